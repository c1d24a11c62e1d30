// The names of frames, and whose code they are.

export const KIND = { java: 0, native: 1, thread: 2, noStack: 3, belowCutoff: 4, objects: 5, leftOut: 6, fold: 7 };
/** Whose code a frame is, by its number in the data. */
export const OWNERS = ["your code", "libraries", "JDK", "JVM and native", "kernel"];

/** The names of all frames of the data. */
export function namesOf({ frames, strings }) {
  return frames.name.map((_, frame) => {
    const className = strings[frames.class[frame]];
    const name = strings[frames.name[frame]] || "[unknown]";
    const kind = frames.kind[frame];
    const method = kind === KIND.thread ? `[${name}]` : name;
    const dot = packageOf(className).length;
    const simple = className.slice(dot === 0 ? 0 : dot + 1);
    const packages = dot === 0 ? [] : packageOf(className).split(".");
    const letters = packages.map((part) => Array.from(part)[0] ?? "");
    return {
      kind,
      className,
      method,
      signature: readableSignature(strings[frames.signature[frame]]),
      package: packageOf(className),
      full: className ? `${className}.${method}` : method,
      // What a bar shows, the first that fits.
      labels: className
        ? [`${className}.${method}`, `${[...letters, simple].join(".")}.${method}`, `${simple}.${method}`, method]
        : [method],
      owner: frames.owner[frame],
    };
  });
}

/** The package of a class name; the suffix of a hidden class is no part of it. */
function packageOf(className) {
  const end = className.search(/[$/]/);
  const dot = className.slice(0, end < 0 ? className.length : end).lastIndexOf(".");
  return dot < 0 ? "" : className.slice(0, dot);
}

/** A name where there is little room. */
export const shortName = (name) => name.labels.at(-2) ?? name.full;

/** Whether a frame represents what has no stack. */
export function isLost(name) {
  return name.kind === KIND.noStack || name.kind === KIND.belowCutoff;
}

/** The kind of a frame: the owner of its code, or what replaces it. */
export function sortOf(name) {
  if (name.kind === KIND.thread) return "thread";
  if (isLost(name)) return "no stack";
  // The states of threads have more shades.
  if (name.kind === KIND.objects) return /^\[.*\]$/.test(name.method) ? name.method : "classes";
  if (name.kind === KIND.leftOut) return "left out";
  if (name.kind === KIND.fold) return "folded";
  return OWNERS[name.owner];
}

const BASE_TYPES = {
  B: "byte", C: "char", D: "double", F: "float", I: "int", J: "long", S: "short", V: "void", Z: "boolean",
};

/** `(I[Ljava/lang/String;)V` as `(int, java.lang.String[]): void`; anything else as it is. */
function readableSignature(signature) {
  const parts = /^\((.*)\)(.+)$/s.exec(signature);
  if (!parts) return signature;
  const types = (text) => {
    const found = text.match(/\[*(?:L[^;]*;|[BCDFIJSVZ])/g) ?? [];
    if (found.join("") !== text) return null;
    return found.map((type) => {
      const element = type.replace(/^\[+/, "");
      const name = BASE_TYPES[element] ?? element.slice(1, -1).replaceAll("/", ".");
      return name + "[]".repeat(type.length - element.length);
    });
  };
  const [parameters, result] = [types(parts[1]), types(parts[2])];
  if (!parameters || result?.length !== 1) return signature;
  return `(${parameters.join(", ")}): ${result[0]}`;
}
