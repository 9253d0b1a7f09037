"use strict";
for (const replay of document.querySelectorAll(".replay")) {
  const frames = JSON.parse(replay.dataset.frames);
  const slider = replay.querySelector("input[type=range]");
  const caption = replay.querySelector(".caption");
  const fault = replay.querySelector("[data-fault]");
  const movers = replay.querySelectorAll("[data-agent]");
  const trails = replay.querySelectorAll("[data-trail]");
  const show = (wanted) => {
    const step = Math.max(0, Math.min(frames.length - 1, wanted));
    const frame = frames[step];
    slider.value = step;
    caption.textContent = frame.caption;
    for (const mover of movers) {
      const [x, y] = frame.at[Number(mover.dataset.agent)];
      mover.setAttribute("transform", `translate(${x} ${y})`);
    }
    for (const trail of trails) {
      // Without the second dash long enough, the trail would begin again.
      const moved = frame.moves[Number(trail.dataset.trail)];
      trail.setAttribute("stroke-dasharray", `${moved} 1000`);
      trail.setAttribute("visibility", moved ? "visible" : "hidden");
    }
    if (fault) fault.setAttribute("visibility", frame.fault ? "visible" : "hidden");
  };
  replay.querySelector(".controls").hidden = false;
  slider.addEventListener("input", () => show(Number(slider.value)));
  for (const button of replay.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => show(Number(slider.value) + Number(button.dataset.step)));
  }
  replay.addEventListener("keydown", (event) => {
    if (event.target === slider) return;
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -frames.length, End: frames.length }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    show(Number(slider.value) + move);
  });
  show(frames.length - 1);
}
