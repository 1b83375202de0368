"use strict";
// Tables are sorted by the column that one clicks; numbers by what they are, not by how they are written.
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const numeric = head.classList.contains("n");
      const way = head.dataset.way ? -head.dataset.way : numeric ? -1 : 1;
      heads.forEach(other => delete other.dataset.way);
      head.dataset.way = way;
      const value = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => way * (numeric ? value(a) - value(b) : value(a).localeCompare(value(b), "en", { numeric: true })));
      table.tBodies[0].append(...rows);
    };
    head.addEventListener("click", event => { if (event.target.tagName !== "A") sort(); });
    head.addEventListener("keydown", event => { if (event.key === "Enter" && event.target === head) sort(); });
  });
}
// What a link names is shown, also where it is folded away.
const show = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  for (let at = target.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", show);
show();
