// Renders the formulas of a page with the KaTeX that is bundled with the site.
document.addEventListener("DOMContentLoaded", () => {
  for (const formula of document.querySelectorAll(".formula")) {
    katex.render(formula.textContent, formula, {
      displayMode: formula.dataset.display === "true",
      throwOnError: false,
    });
  }
});
