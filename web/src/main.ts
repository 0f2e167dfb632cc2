import { answerAll, findPlan, listActions, readHeads, readNames, simulateAll } from "./engine/program";
import { mount } from "./page";

Object.assign(globalThis, { trace2strips: { answerAll, findPlan, listActions, readHeads, readNames, simulateAll } });
if (typeof document !== "undefined") mount();
