// The few operations on the document that everything else is made of.
//
// Labels, groups and rules come from outside and may hold anything, so text enters the document as text nodes only, and
// a label stands in a <bdi>, which keeps right-to-left text from turning its surroundings. Characters that cannot be
// seen, or that turn the direction of text, are shown as escapes, so that two labels that differ look different. Nothing
// is written that has not changed, and nodes are reused by position: numbers move, rows do not, so that scroll, focus
// and selection stay, and a view of 200 classes is drawn within a frame or two.

const SHOWN = 220; // characters of a label that are shown; the rest is in the title, up to TITLE
const TITLE = 1000;
// Controls, zero-width spaces and marks of direction; not the joiners, which Persian, Hindi and emoji are written with.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A new element: `el("td", {class: "number", title: "..."}, "text", child)`. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children);
  return node;
}

/** A new element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children);
  return node;
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Set the text of a node whose only child is text. */
export function setText(node, text) {
  const first = node.firstChild;
  if (first === null) {
    if (text !== "") node.append(text);
  } else if (first.data !== text) first.data = text;
}

/** Set an attribute; null or undefined takes it away. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== `${value}`) node.setAttribute(name, value);
}

/** Set a custom property, through the CSSOM: style attributes are refused by the content security policy. */
export function setVariable(node, name, value) {
  if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value);
}

/** Show or hide. */
export function show(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
}

/** Exactly `count` children: `create(index)` makes those that lack, those beyond go. Returns the children. */
export function sized(parent, count, create) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(create(parent.children.length));
  return parent.children;
}

/** An empty place for a label. */
export const labelNode = () => el("bdi", { class: "label", dir: "auto" });

/** Put a label into its place: long ones cut, with the whole in the title; the empty one is named. */
export function setLabel(node, label) {
  if (node.shownLabel === label) return;
  node.shownLabel = label;
  setText(node, short(label));
  node.classList.toggle("empty", label === "");
  setAttribute(node, "title", label === "" ? "a label of no characters" : label.slice(0, TITLE));
}

/** A label as short text, with all of it visible. */
export function short(label, length = SHOWN) {
  if (label === "") return "(empty)";
  const whole = label
    .slice(0, length)
    .replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return label.length > length ? `${whole}…` : whole;
}

/** What is remembered over visits, or null. */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Remember, where the browser lets us; null forgets. */
export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // It lasts as long as the page then.
  }
}
