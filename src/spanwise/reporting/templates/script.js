"use strict";
// Only comfort: every number and text of the page is there without this script.
for (const block of document.querySelectorAll(".commands pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = document.body.dataset.copy;
  button.addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(block.querySelector("code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    try {
      await navigator.clipboard.writeText(range.toString());
    } catch {
      document.execCommand("copy"); // pages opened from a file have no clipboard in some browsers
    }
    button.textContent = document.body.dataset.copied;
    setTimeout(() => (button.textContent = document.body.dataset.copy), 1500);
  });
  block.append(button);
}
