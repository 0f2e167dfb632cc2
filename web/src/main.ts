import { answerAll, findPlan, listActions, simulateAll } from "./engine/program";
import { mount } from "./page";

Object.assign(globalThis, { trace2strips: { answerAll, findPlan, listActions, simulateAll } });
if (typeof document !== "undefined") mount();
