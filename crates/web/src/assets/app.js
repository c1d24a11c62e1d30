// Exchanges the token at the end of the address for a cookie, and lists the sources.
const token = location.hash.slice(1);
if (token) {
  await fetch("/api/session", { method: "POST", body: token });
  history.replaceState(null, "", location.pathname + location.search);
}
const sources = await (await fetch("/api/sources")).json();
const list = document.getElementById("sources");
for (const { name } of sources.sources ?? []) {
  const item = document.createElement("li");
  item.textContent = name;
  list.append(item);
}
