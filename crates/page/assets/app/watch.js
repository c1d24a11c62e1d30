// What happens outside of the page: a file changes, the server ends, the session is another one.

import { ask, forgetVersions, shownVersion } from "./api.js";
import { byId, make } from "./dom.js";
import { state } from "./state.js";

/** The time between two looks, while the page is seen. */
const LOOK_MS = 5000;

/** Says a line above the view, with a button where something can be done; without a line, nothing. */
function say(line, title, run) {
  const place = byId("news");
  // A line that is there already is not read out once more.
  if ((line ?? "") === (place.dataset.line ?? "")) return;
  place.dataset.line = line ?? "";
  place.hidden = !line;
  place.replaceChildren(...(line ? [make("span", {}, line), make("button", { type: "button", onclick: run }, title)] : []));
}

const stays = () => (byId("view").childElementCount > 0 ? " What is shown stays." : "");

/**
 * Looks again and again at the list of sources. `known` takes each list; `load` shows the address anew. What comes back
 * looks now, or says that an answer was about another version of the file.
 */
export function watch({ known, load }) {
  let isLost = false;
  const again = () => {
    say(null);
    forgetVersions();
    load();
  };
  const look = async () => {
    if (document.hidden) return;
    let sources;
    try {
      ({ sources } = await ask("sources"));
    } catch (error) {
      isLost = true;
      const reason = error.status === 401 ? "This browser has no session: open the address that perk serve printed" : error.message;
      say(`${reason}.${stays()}`, "Try again", look);
      return;
    }
    known(sources);
    const source = sources.find((it) => it.id === state.source);
    const shown = shownVersion(state.source);
    if (state.source && !source) say(`This file is not there any more.${stays()}`, "Look again", again);
    else if (source && source.kind !== "jvm" && source.state !== "ok") say(`${source.error}.${stays()}`, "Look again", again);
    else if (source && shown !== undefined && String(source.version) !== shown) say(`${source.name} has changed since it was read.`, "Load it", again);
    else {
      say(null);
      // What failed meanwhile is shown now.
      if (isLost && byId("view").childElementCount === 0) load();
    }
    isLost = false;
  };
  setInterval(look, LOOK_MS);
  for (const kind of ["visibilitychange", "focus", "online"]) addEventListener(kind, look);
  return { look, changed: () => say("The file has changed since it was read.", "Load it", again) };
}
