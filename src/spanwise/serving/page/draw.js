// How answers look: everything here makes elements of what it is given, and knows nothing of the server.
"use strict";

const HUES = [168, 28, 262, 345, 205, 88, 48, 310, 8, 232, 130, 285];
const hueOf = number => HUES[number % HUES.length] + 17 * Math.floor(number / HUES.length);
const share = score => `${(100 * Math.min(1, score)).toFixed(score < 0.0995 ? 1 : 0)} %`;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "hue") element.style.setProperty("--hue", value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Python counts characters by code points, JavaScript strings by 16 bits.
function units(text) {
  const places = [0];
  for (const sign of text) places.push(places[places.length - 1] + sign.length);
  return places;
}

function cut(text, spans) {
  const places = units(text);
  return spans.map(span => ({ ...span, start: places[span.start] ?? text.length, end: places[span.end] ?? text.length }));
}

// Spans inside one another become elements inside one another; of spans that cross, the later one is left out.
function marked(text, spans, element) {
  const sorted = cut(text, spans).sort((a, b) => a.start - b.start || b.end - a.end);
  let next = 0;
  function fill(parent, start, end) {
    let place = start;
    while (next < sorted.length && sorted[next].start < end) {
      const span = sorted[next++];
      if (span.start < place || span.end > end || span.start === span.end) continue;
      parent.append(text.slice(place, span.start));
      const inner = element(span);
      fill(inner, span.start, span.end);
      if (span.after) inner.append(span.after);
      parent.append(inner);
      place = span.end;
    }
    parent.append(text.slice(place, end));
  }
  const whole = document.createDocumentFragment();
  fill(whole, 0, text.length);
  return whole;
}

function meter(score) {
  const bar = make("i");
  bar.style.width = `${100 * Math.min(1, score)}%`;
  return make("div", { class: "meter", "aria-hidden": "true" }, bar);
}

function row(label, score, ...more) {
  return make("li", {}, label, meter(score), make("span", { class: "number" }, share(score)), ...more);
}

// The sentence or so around an answer, the answer lit.
function passage(text, answer) {
  const [span] = cut(text, [answer]);
  const first = Math.max(0, text.lastIndexOf(" ", Math.max(0, span.start - 70)) + 1);
  const stop = text.indexOf(" ", Math.min(text.length, span.end + 70));
  const last = stop < 0 ? text.length : stop;
  return [
    (first > 0 ? "… " : "") + text.slice(first, span.start),
    make("mark", {}, text.slice(span.start, span.end)),
    text.slice(span.end, last) + (last < text.length ? " …" : ""),
  ];
}

// Colour of a chain or kind; pointing at one member shows all of its group.
function tone(view, group, attributes = {}) {
  const show = on => {
    for (const member of view.querySelectorAll("[data-group]")) member.classList.toggle("on", on && member.dataset.group === String(group));
    view.classList.toggle("picking", on);
  };
  return {
    "data-group": group, hue: hueOf(group), ...attributes,
    onmouseover: event => { event.stopPropagation(); show(true); }, onmouseout: () => show(false),
    onfocus: () => show(true), onblur: () => show(false),
  };
}

function guesses(title, found, original) {
  const list = make("ul", { class: "rows" });
  for (const guess of found) {
    const under = make("i", { class: "under" });
    under.style.width = `${Math.max(1, 100 * guess.score)}%`;
    const isRight = guess.token_str.trim().toLowerCase() === original.toLowerCase();
    list.append(make("li", {}, under, make("span", { class: isRight ? "right" : undefined }, guess.token_str.trim() || "␣"), make("span", { class: "number" }, share(guess.score))));
  }
  return make("div", {}, make("h2", {}, title), list);
}

// Curves from subject to object above the text, each with its relation.
function arcs(view, relations) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.classList.add("arcs");
  const origin = view.getBoundingClientRect();
  const middle = element => {
    const box = element.getClientRects()[0];
    return [box.left + box.width / 2 - origin.left, box.top - origin.top + view.scrollTop];
  };
  for (const { from, to, label } of relations) {
    const [x1, y1] = middle(from), [x2, y2] = middle(to);
    const top = Math.min(y1, y2) - 10 - Math.min(40, Math.abs(x2 - x1) / 8);
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", `M${x1} ${y1} C${x1} ${top} ${x2} ${top} ${x2} ${y2}`);
    const words = document.createElementNS(space, "text");
    words.setAttribute("x", (x1 + x2) / 2);
    words.setAttribute("y", top + 8);
    words.textContent = label;
    picture.append(path, words);
  }
  view.append(picture);
}
