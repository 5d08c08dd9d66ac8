// Sets the chosen theme before anything is painted. Not a module: modules run too late for that.
// @ts-check
(() => {
  if (document.documentElement.dataset.framed !== undefined) return; // the page around it decides
  try {
    const theme = localStorage.getItem("accord-explorer.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is forbidden here: the system's theme it is.
  }
})();
