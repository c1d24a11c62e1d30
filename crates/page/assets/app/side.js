// The selected item, beside the view.

import { byId } from "./dom.js";

/** Shows what is known of the selected item. */
export function showSide(...children) {
  const side = byId("side");
  side.replaceChildren(...children.filter(Boolean));
  side.hidden = false;
}

export function hideSide() {
  byId("side").hidden = true;
  byId("side").replaceChildren();
}
