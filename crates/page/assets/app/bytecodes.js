// Bytecodes: which methods run most of them, and which lines and methods of each file ran at all.

import { files, formList } from "./lines.js";
import { rows } from "./rows.js";
import { hideSide } from "./side.js";
import { state } from "./state.js";

const FORMS = { methods: "Methods", files: "Coverage by file" };

/** Fills the view of bytecodes. The metric is that of the address, if it has one. */
export async function bytecodes(context) {
  if (state.question.form === "files") {
    hideSide();
    return files(context, { metric: state.question.metric ?? context.view.metric, forms: FORMS });
  }
  return rows({ ...context, form: formList("methods", FORMS) });
}
