"use strict";
// What belongs to one radius has the class "at" and its place; the slider shows one place at a time.
const slider = document.getElementById("slider"), range = slider.querySelector("input");
const parts = [...document.querySelectorAll(".at")];
function show(place) {
  range.value = place;
  for (const part of parts) part.toggleAttribute("hidden", part.dataset.at !== String(place));
  link();
}
range.addEventListener("input", () => show(range.value));
slider.hidden = false;

// A pointer on the chart goes to the nearest radius.
for (const chart of document.querySelectorAll("figure svg")) {
  const follow = event => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    const box = chart.getBoundingClientRect(), x = (event.clientX - box.x) * chart.viewBox.baseVal.width / box.width;
    const away = cursor => Math.abs(Number(cursor.querySelector("path").getAttribute("d").match(/[\d.]+/)[0]) - x);
    show([...chart.querySelectorAll(".cursor")].reduce((a, b) => (away(b) < away(a) ? b : a)).dataset.at);
  };
  chart.addEventListener("pointerdown", follow);
  chart.addEventListener("pointermove", follow);
}

// Each table as CSV, with all digits of its numbers.
function csv(table) {
  const cell = c => {
    const text = c.dataset.v ?? c.textContent;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return [...table.rows].map(row => [...row.cells].map(cell).join(",")).join("\r\n") + "\r\n";
}
function link() {
  for (const table of document.querySelectorAll("table.csv")) {
    if (table.closest(".at[hidden]")) continue;
    let a = table.nextElementSibling;
    if (!a || a.className !== "download") {
      a = document.createElement("a");
      a.className = "download";
      a.textContent = "CSV";
      a.download = table.dataset.name + ".csv";
      a.href = "data:text/csv;charset=utf-8," + encodeURIComponent(csv(table));
      table.after(a);
    }
  }
}
link();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
