// The copy button of a block that shows a terminal copies its commands alone: no prompt, no output.
document.addEventListener("click", event => {
  const button = event.target.closest("[data-clipboard-target]");
  const block = button && button.closest(".language-console");
  if (!block) return;
  const lines = block.querySelector("code").textContent.split("\n"), commands = [];
  let goesOn = false;  // after a backslash at the end of a line
  for (const line of lines) {
    if (!goesOn && !line.startsWith("$ ")) continue;
    commands.push(goesOn ? line : line.slice(2));
    goesOn = line.endsWith("\\");
  }
  if (commands.length) button.setAttribute("data-clipboard-text", commands.join("\n"));
}, true);
