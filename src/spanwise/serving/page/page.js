// What a person does on the page, and what is asked of the server for it.
"use strict";

const at = id => document.getElementById(id);
const TASKS = ["question-answering", "coreference", "token-classification", "fill-mask", "text-generation"];
const NEW_TOKENS = 60; // that are written on at a time
const LIMIT_PAIRS = 30; // pairs of names that are asked for their relation
const state = { task: TASKS[0], documents: [], shown: 0, models: [], limits: {}, hidden: new Set(), language: "en", turn: 0 };
const say = () => WORDS[state.language];
const current = () => state.models.find(model => model.name === at("model").value) ?? state.models[0];
const text = () => state.documents[state.shown]?.text ?? "";

// ---- the server

async function ask(task, inputs, options) {
  const body = JSON.stringify({ inputs, options, model: current().name });
  for (let attempt = 0; ; attempt++) {
    const answer = await send(`v1/${task}`, { method: "POST", body, headers: { "content-type": "application/json" } });
    if (answer.status === 429 && attempt < 5) {
      tell(say().busy);
      await new Promise(done => setTimeout(done, 1000 * Number(answer.headers.get("retry-after") || 1)));
      continue;
    }
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error?.message ?? answer.statusText);
    return found.answers;
  }
}

async function send(path, given = {}) {
  const key = sessionStorage.getItem("key");
  const headers = { ...given.headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
  let answer;
  try {
    answer = await fetch(path, { ...given, headers });
  } catch {
    throw new Error(say().lost);
  }
  if (answer.status !== 401) return answer;
  const typed = prompt(say().key);
  if (!typed) return answer;
  sessionStorage.setItem("key", typed);
  return send(path, given);
}

// ---- the text

function showText() {
  const isFew = state.documents.length < 2;
  at("documents").replaceChildren(...(isFew ? [] : state.documents.map((document, number) => make("button", {
    type: "button", "aria-pressed": String(number === state.shown), title: document.name, onclick: () => { state.shown = number; reset(); },
  }, document.name))));
}

function editing(is) {
  at("text").hidden = !is;
  at("view").hidden = is;
  at("edit").hidden = is;
  if (is) at("text").value = text();
}

function view(content) {
  at("view").replaceChildren(content);
  editing(false);
}

function setDocuments(documents, shown = 0) {
  state.documents = documents;
  state.shown = shown;
  reset();
}

function reset() {
  state.turn++;
  state.hidden.clear();
  at("result").replaceChildren();
  tell("");
  showText();
  if (state.task === "fill-mask" && text().trim()) showWords();
  else editing(true);
}

async function read(files) {
  const found = [], left = [];
  for (const file of files) {
    const content = file.size < 4e6 ? await file.text() : "\0";
    if (/[\0\ufffd]/.test(content)) left.push(file.name); // too large, no text at all, or not in UTF-8
    else found.push({ name: file.name, text: content });
  }
  left.push(...found.splice(state.limits.documents ?? 256).map(document => document.name));
  if (found.length) setDocuments(found);
  if (left.length) tell(say().leftOut(left), true);
}

// ---- what can be done

function tell(words, isWrong = false) {
  at("status").textContent = words;
  at("status").classList.toggle("wrong", isWrong);
}

function choose(task) {
  state.task = task;
  for (const tab of at("tabs").children) {
    const is = tab.dataset.task === task;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
  }
  at("ask").hidden = task !== "question-answering";
  at("run").hidden = !task || task === "question-answering";
  at("run").textContent = say().run[task] ?? "";
  at("hint").textContent = task ? hintOf(task) : say().hint.none;
  reset();
}

function hintOf(task) {
  const isOneHead = task === "fill-mask" && (current().heads ?? []).length < 2;
  return say().hint[isOneHead ? "fill-mask-once" : task];
}

function showTabs() {
  const known = TASKS.filter(task => current().tasks.includes(task));
  at("tabs").replaceChildren(...known.map(task => make("button", {
    type: "button", role: "tab", "data-task": task, "aria-controls": "result", onclick: () => choose(task),
  }, say().tabs[task])));
  choose(known.includes(state.task) ? state.task : known[0]);
}

async function run(work) {
  if (at("text").hidden === false) {
    const typed = at("text").value;
    if (state.documents.length) state.documents[state.shown].text = typed;
    else state.documents = [{ name: say().newText, text: typed }];
  }
  if (!text().trim()) return tell(say().empty, true);
  if (text().length > state.limits.text) return tell(say().tooLong(text().length, state.limits.text), true);
  const turn = ++state.turn;
  tell(say().thinking);
  for (const button of document.querySelectorAll(".main")) button.disabled = true;
  try {
    const show = await work();
    if (turn === state.turn) show(); // the person may have gone on meanwhile
  } catch (error) {
    if (turn === state.turn) tell(error.message, true);
  } finally {
    for (const button of document.querySelectorAll(".main")) button.disabled = false;
  }
}

async function question() {
  const asked = at("question").value.trim();
  if (!asked) return tell(say().noQuestion, true);
  await run(async () => {
    const texts = state.documents.map(document => document.text);
    const isSearch = texts.filter(one => one.trim()).length > 1;
    const numbers = texts.map((one, number) => number).filter(number => texts[number].trim());
    const input = isSearch ? { question: asked, documents: numbers.map(number => texts[number]) } : { question: asked, context: text() };
    const options = { top_k: 20, ...(current().korean ? { align_to_words: false } : {}) };
    const all = [await ask("question-answering", input, options)].flat();
    const found = all.filter((one, place) => place < 5 || (!one.answer && all.findIndex(other => !other.answer) === place));
    return () => showAnswers(found.map(one => ({ ...one, document: isSearch ? numbers[one.document] : state.shown })), isSearch);
  });
}

function showAnswers(found, isSearch) {
  tell("");
  const best = found[0];
  const light = number => {
    const chosen = found[number];
    if (chosen.answer) state.shown = chosen.document;
    showText();
    const here = found.map((one, place) => ({ ...one, place })).filter(one => one.answer && one.document === state.shown);
    const order = [...here.filter(one => one.place === number), ...here.filter(one => one.place !== number)];
    const kept = order.filter((one, place) => order.slice(0, place).every(other => one.end <= other.start || other.end <= one.start));
    view(marked(text(), kept, span => make("mark", { class: span.place === number && span.answer ? "best" : undefined, title: share(span.score) })));
    at("view").querySelector(".best")?.scrollIntoView({ block: "nearest" });
  };
  const list = make("ul", { class: "rows" });
  found.forEach((one, number) => {
    if (number === 0 && !isSearch) return; // it stands above
    const name = one.answer || say().noAnswerShort;
    const label = make("span", { class: one.answer ? undefined : "none" }, name);
    const more = isSearch && one.answer ? [make("div", { class: "passage" }, make("b", {}, state.documents[one.document].name), " · ", ...passage(state.documents[one.document].text, one))] : [];
    const item = row(label, one.score, ...more);
    if (one.answer) {
      item.tabIndex = 0;
      item.addEventListener("click", () => light(number));
      item.addEventListener("keydown", event => { if (event.key === "Enter") light(number); });
    }
    list.append(item);
  });
  at("result").replaceChildren(
    make("p", { class: best.answer ? "answer" : "answer none" }, best.answer || say().noAnswer, " ", make("small", {}, share(best.score))),
    make("h2", {}, isSearch ? say().passages : say().others), list,
  );
  light(0);
}

async function coreference() {
  await run(async () => {
    const found = await ask("coreference", text());
    return () => {
      const chains = found.clusters.filter(chain => chain.length > 1);
      const spans = chains.flatMap((chain, group) => chain.map(mention => ({ ...mention, group })));
      view(marked(text(), spans, span => make("span", { class: "tone", ...tone(at("view"), span.group, { title: share(span.score) }) })));
      tell(chains.length ? say().chains(chains.length) : say().nothing);
      at("result").replaceChildren(...chains.map((chain, group) => make("div", { class: "group chips", ...tone(at("view"), group, { tabindex: 0 }) },
        ...chain.map(mention => make("span", { class: "tone", hue: hueOf(group) }, mention.text)))));
    };
  });
}

async function names() {
  await run(async () => {
    const { spans } = await ask("token-classification", text());
    const related = current().tasks.includes("relation-extraction") ? await relations(spans) : [];
    return () => {
      const kinds = [...new Set(spans.map(span => span.label))].sort();
      const shown = spans.map((span, number) => ({ ...span, number, after: make("sup", {}, span.label) }));
      view(marked(text(), shown, span => make("span", { class: "tone", id: `name-${span.number}`, ...tone(at("view"), kinds.indexOf(span.label), { title: share(span.score) }) })));
      tell(spans.length ? say().names(spans.length) : say().nothing);
      const groups = kinds.map((kind, group) => make("div", { class: "group chips", ...tone(at("view"), group, { tabindex: 0 }) }, make("h2", {}, kind),
        ...[...new Set(spans.filter(span => span.label === kind).map(span => span.text))].map(name => make("span", { class: "tone", hue: hueOf(group) }, name))));
      const list = related.map(one => row(make("span", {}, `${one.subject.text} → ${one.label} → ${one.object.text}`), one.score));
      at("result").replaceChildren(...groups, ...(list.length ? [make("h2", {}, say().relations), make("ul", { class: "rows" }, ...list)] : []));
      const element = number => at(`name-${number}`);
      arcs(at("view"), related.map(one => ({ from: element(one.from), to: element(one.to), label: one.label })).filter(one => one.from && one.to));
    };
  });
}

async function relations(spans) {
  const pairs = [];
  for (let from = 0; from < spans.length; from++)
    for (let to = 0; to < spans.length; to++)
      if (from !== to && Math.abs(spans[from].start - spans[to].start) < 200 && pairs.length < LIMIT_PAIRS) pairs.push([from, to]);
  if (!pairs.length) return [];
  const side = number => ({ start: spans[number].start, end: spans[number].end, type: spans[number].label });
  const found = await ask("relation-extraction", pairs.map(([from, to]) => ({ text: text(), subject: side(from), object: side(to) })));
  return found.map((one, number) => ({ ...one, from: pairs[number][0], to: pairs[number][1] }))
    .filter(one => !/^(no_relation|other|none|na|false)$/i.test(one.label));
}

// ---- hidden words

const wordsOf = whole => [...whole.matchAll(/[\p{L}\p{N}\p{M}_'’-]+|[^\s\p{L}\p{N}\p{M}_'’-]/gu)];

function showWords() {
  const whole = text(), content = document.createDocumentFragment();
  let place = 0;
  for (const word of wordsOf(whole)) {
    const number = word.index;
    content.append(whole.slice(place, number));
    const turn = event => {
      if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (!state.hidden.delete(number)) state.hidden.add(number);
      event.currentTarget.setAttribute("aria-pressed", String(state.hidden.has(number)));
      event.currentTarget.textContent = word[0];
      event.currentTarget.classList.remove("filled");
    };
    content.append(make("span", { class: "word", "data-at": number, role: "button", tabindex: 0, "aria-pressed": String(state.hidden.has(number)), onclick: turn, onkeydown: turn }, word[0]));
    place = number + word[0].length;
  }
  content.append(whole.slice(place));
  view(content);
}

async function guess() {
  if (!at("text").hidden) return run(async () => () => { tell(say().noneHidden, true); showWords(); });
  const words = wordsOf(text()).filter(word => state.hidden.has(word.index));
  if (!words.length) return tell(say().noneHidden, true);
  await run(async () => {
    let whole = "", place = 0;
    for (const word of words) {
      whole += text().slice(place, word.index) + current().mask;
      place = word.index + word[0].length;
    }
    whole += text().slice(place);
    const found = {};
    for (const head of current().heads) {
      const answers = await ask("fill-mask", whole, { head, top_k: 5 });
      found[head] = words.length === 1 ? [answers] : answers;
    }
    return () => {
      tell("");
      words.forEach((word, number) => { // the best guess takes the word's place in the text
        const element = at("view").querySelector(`[data-at="${word.index}"]`);
        element.textContent = found[current().heads[0]][number][0].token_str.trim();
        element.classList.add("filled");
      });
      const titles = { mlm: say().context, sbo: say().borders };
      at("result").replaceChildren(...words.flatMap((word, number) => [
        make("p", { class: "answer" }, word[0], " ", make("small", {}, say().hidden)),
        make("div", { class: "guesses" }, ...current().heads.map(head => guesses(titles[head], found[head][number], word[0]))),
      ]));
    };
  });
}

async function write() {
  await run(async () => {
    const found = await ask("text-generation", text(), { max_new_tokens: NEW_TOKENS });
    return () => {
      tell("");
      const [start, end] = [found.text.slice(0, found.text.length - found.generated_text.length), found.text].map(part => [...part].length);
      view(marked(found.text, [{ start, end }], () => make("mark", { class: "best" })));
      at("view").querySelector(".best")?.scrollIntoView({ block: "nearest" });
    };
  });
}

// ---- language, theme, keys

function showExample() {
  const fitting = state.models.find(model => model.korean === (state.language === "ko"));
  if (fitting) at("model").value = fitting.name;
  showTabs();
  const example = EXAMPLES[current().korean ? "ko" : "en"];
  at("question").value = example.question;
  setDocuments([{ name: say().newText, text: example.text }]);
}

function speak(language) {
  state.language = language;
  localStorage.setItem("language", language);
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = say()[element.dataset.say];
  for (const element of document.querySelectorAll("[data-say-label]")) element.setAttribute("aria-label", say()[element.dataset.sayLabel]);
  for (const element of document.querySelectorAll("[data-say-placeholder]")) element.placeholder = say()[element.dataset.sayPlaceholder];
  at("language").textContent = say().other;
  paint(document.documentElement.dataset.theme);
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  at("theme").textContent = theme === "dark" ? say().light : say().dark;
}

function listen() {
  const doing = { coreference, "token-classification": names, "fill-mask": guess, "text-generation": write };
  at("ask").addEventListener("submit", event => { event.preventDefault(); question(); });
  at("run").addEventListener("click", () => doing[state.task]());
  at("edit").addEventListener("click", () => { editing(true); at("text").focus(); });
  at("clear").addEventListener("click", () => { setDocuments([]); at("text").focus(); });
  at("files").addEventListener("change", event => read(event.target.files));
  at("model").addEventListener("change", showTabs);
  at("language").addEventListener("click", () => {
    const isExample = Object.values(EXAMPLES).some(example => example.text === text());
    speak(state.language === "en" ? "ko" : "en");
    if (isExample) showExample();
    else showTabs();
  });
  at("theme").addEventListener("click", () => { const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; localStorage.setItem("theme", next); paint(next); });
  at("text").addEventListener("input", () => {
    if (state.documents.length) state.documents[state.shown].text = at("text").value;
    else state.documents = [{ name: say().newText, text: at("text").value }];
  });
  at("tabs").addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...at("tabs").children];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
  document.addEventListener("keydown", event => {
    const isTyping = /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName);
    if (event.key === "/" && !isTyping && !at("ask").hidden) { event.preventDefault(); at("question").focus(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); state.task === "question-answering" ? question() : doing[state.task](); }
  });
  for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, event => { event.preventDefault(); at("paper").classList.add("dropping"); });
  for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, event => { event.preventDefault(); if (kind === "drop" || !event.relatedTarget) at("paper").classList.remove("dropping"); });
  document.addEventListener("drop", event => read(event.dataTransfer.files));
}

async function start() {
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? (prefers.matches ? "dark" : "light");
  prefers.addEventListener("change", event => { if (!localStorage.getItem("theme")) paint(event.matches ? "dark" : "light"); });
  speak(localStorage.getItem("language") ?? (navigator.language.startsWith("ko") ? "ko" : "en"));
  listen();
  try {
    const answer = await send("v1/models");
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error.message);
    Object.assign(state, { models: found.models, limits: found.limits });
    at("model").replaceChildren(...found.models.map(model => make("option", { value: model.name }, model.name)));
    showExample();
    if (found.start) {
      at("question").value = "";
      setDocuments([{ name: say().newText, text: found.start }]);
    }
  } catch (error) {
    tell(error.message, true);
  }
}

start();
