// Charts by Observable Plot. Its <style> is taken out: the page's policy lets in its own style alone, which has the same.

import * as Plot from "@observablehq/plot";

export { Plot };

export function chart(options: Plot.PlotOptions, label: string): SVGElement | HTMLElement {
  const drawn = Plot.plot({ className: "plot", ...options });
  for (const style of drawn.querySelectorAll("style")) style.remove();
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", label);
  return drawn as SVGElement | HTMLElement;
}
