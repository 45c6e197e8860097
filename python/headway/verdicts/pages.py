"""Pages made from the locked verdicts: docs/claims.md, a page per study, and parts of others.

The build of the documentation site makes the pages of the studies; the others are kept in docs.

A generated part of a page begins with ``<!-- made: NAME -->`` and ends with ``<!-- end: NAME -->``;
the text between is replaced. A study may define its own parts (``Study.parts``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import headway
from headway.claims import BASES, MEASURED, Claim, Verdict, headline, joined, tally, told, unique
from headway.claims.words import WORDS
from headway.errors import HeadwayError
from headway.files import save_text
from headway.studies.common.left_out import LEFT_OUT
from headway.study import Study, discover
from headway.table import markdown
from headway.verdicts.locked import SEEDS, Locked, as_claims, measured_on, read

Studies = Mapping[str, tuple[Study[Any, Any], Sequence[Locked]]]
"""Each study that judges claims, with its locked claims, by the study's name."""


def write_pages() -> list[Path]:
    """Write docs/claims.md and parts of other pages. Raises HeadwayError outside a source tree."""
    made = pages(source_tree())
    for path, text in made.items():
        save_text(path, text)
    return list(made)


def source_tree() -> Path:
    """The source tree that contains this package. Raises HeadwayError for an installed package."""
    root = Path(headway.__file__).resolve().parents[2]
    if not (root / "docs" / "architecture.md").exists():
        raise HeadwayError(f"--write: {root} is not a source tree of Headway; it has no docs/")
    return root


def pages(root: Path) -> dict[Path, str]:
    """The texts of all pages in the source tree that are generated or have generated parts."""
    studies = _studies()
    docs = root / "docs"
    made = {docs / "claims.md": _summary(studies)}
    parts = {name: part(studies) for name, part in PARTS.items()}
    for study, locked in studies.values():
        parts |= {name: part(as_claims(locked)) for name, part in study.parts}
    for path in sorted({*root.glob("*.md"), *docs.glob("*.md"), *made}):
        text = made.get(path) or path.read_text(encoding="utf-8")
        filled = _filled(text, parts)
        if filled != text or path in made:
            made[path] = filled
    return made


def study_pages() -> dict[str, str]:
    """The page of each study by the study's name, for docs/claims of the documentation site."""
    return {name: _study(study, locked) for name, (study, locked) in _studies().items()}


def _studies() -> Studies:
    return {
        name: (study, locked)
        for name, study in discover().items()
        if (locked := [one for form in study.forms() for one in read(form)])
    }


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for name in re.findall(r"^<!-- made: ([\w-]+) -->$", text, re.M):
        if name not in parts:
            raise HeadwayError(f"<!-- made: {name} -->: unknown part; known: {', '.join(parts)}")
        pattern = rf"(?<=^<!-- made: {name} -->\n).*?(?=^<!-- end: {name} -->$)"
        body = parts[name].rstrip("\n") + "\n"
        text = re.sub(pattern, lambda _, body=body: body, text, flags=re.M | re.S)  # type: ignore[misc]
    return text


def _claims(studies: Studies) -> list[Claim]:
    return [claim for _, locked in studies.values() for claim in as_claims(locked)]


# ---- A page per study ----


def _study(study: Study[Any, Any], locked: Sequence[Locked]) -> str:
    claims = as_claims(locked)
    lines = [
        f"# {study.title}",
        "",
        f"{study.source}. `headway run {study.name}`.",
        "",
        f"{_made(study)}: {told(claims)}.",
        "",
        study.description,
        "",
        "## Claims",
        "",
    ]
    live = None if _is_live(study) else study.live()
    on_kernel = [one for one in locked if live and one.basis == "live"]
    lines += _rows([one for one in locked if one not in on_kernel], is_live=_is_live(study))
    if on_kernel:
        lines += ["", "## Claims on the kernel", "", *_rows(on_kernel, is_live=True)]
    notes = [_note(one) for one in locked if one.note or one.part or one.same_as]
    if notes:
        lines += ["", "## Notes", "", *notes]
    if study.choices:
        lines += ["", "## What the paper leaves open", ""]
        lines += [f"- {choice}" for choice in study.choices]
    if live and on_kernel and live.choices:
        lines += ["", "## What was chosen on the kernel", ""]
        lines += [f"- {choice}" for choice in live.choices]
    return "\n".join([*lines, ""])


def _rows(locked: Sequence[Locked], *, is_live: bool) -> list[str]:
    seeds = f"quick form, {'runs' if is_live else 'seeds'} 1 to {max(SEEDS)}"
    return _table(
        ["claim", "basis", "statement", "published", "measured", "tolerance", "verdict", seeds],
        [_row(one) for one in locked],
    )


def _is_live(study: Study[Any, Any]) -> bool:
    return study.only_backend == "kernel"


def _made(study: Study[Any, Any]) -> str:
    """How a study's verdicts were made, and on which machine the live verdicts were measured."""
    simulated = "Made by `make verdicts`, full form, seed 1"
    on = measured_on(study)
    if not on and not _is_live(study):
        return simulated
    quick = "" if on.get("quick") == on.get("full") else f"; quick form on {on.get('quick')}"
    live = f"by `make verdicts-live`, full form on {on.get('full')}{quick}"
    return f"Made {live}" if _is_live(study) else f"{simulated}, and what is live {live}"


def _row(one: Locked) -> list[str]:
    claim = one.claim()
    return [
        one.id,
        one.basis,
        one.statement,
        _value(one.published),
        _measured(claim),
        one.tolerance,
        _marked(claim),
        _seeds(one),
    ]


def _note(one: Locked) -> str:
    text = joined(
        f"Judged in part: {one.part}" if one.part else "",
        f"The same check as {one.same_as}, and counted once." if one.same_as else "",
        one.note,
    )
    return f"- **{one.id}** {text}"


def _seeds(one: Locked) -> str:
    """The quick form's verdicts, each with its seeds; one verdict without seeds if all agree."""
    if one.quick is None or one.basis not in ("simulated", "live"):
        return ""
    if not one.flips:
        return one.quick.verdict
    by_seed = {"1": one.quick.verdict, **one.seeds}
    return "flips: " + ", ".join(f"{seed} {verdict}" for seed, verdict in by_seed.items())


# ---- The summary ----


def _summary(studies: Studies) -> str:
    locked = [one for _, own in studies.values() for one in own]
    claims = as_claims(locked)
    return "\n".join(
        [
            "# Claims",
            "",
            "The papers' statements and what was measured. `make verdicts` generates this page "
            "from the files `verdicts.json` in the studies' folders.",
            "",
            "Every claim has a basis. `simulated` and `live` claims are judged by trials; a test "
            "spoils the trials' evidence of each and checks that the verdict changes. A `model` is "
            "a formula that was evaluated. A `setting` is a restated number: it is as stated, or "
            "differs. A `calibrated` claim has a number that a setting was fitted to, and counts "
            "in no tally. A claim of which only a part is judged holds `in part` at most. "
            "Claims that share a check count once. The headline counts statements of "
            "the five papers; our own are counted separately.",
            "",
            "Each word of a statement is judged by one table, [below](#what-words-mean). A verdict "
            "is `undecided` if the 95 % interval of the claim's margin, over seeds of the full "
            "form, includes 0.",
            "",
            "A failure has one of three kinds. `refuted`: the statement is not generally true. "
            "`unknown setting`: a setting that the paper does not print decides it. `open`: the "
            "reason is unknown. `headway why CLAIM` runs the experiments that show the first two.",
            "",
            "`make docs` builds the page of each study as part of the documentation site.",
            "",
            "<!-- made: headline -->",
            "<!-- end: headline -->",
            "",
            "## By study",
            "",
            *_by_study(studies),
            "",
            "## What does not hold, or holds in part",
            "",
            *_doubtful(studies),
            "",
            "## Undecided",
            "",
            *_undecided(studies),
            "",
            "## Verdicts of the quick form that flip with the seed or the run",
            "",
            "Seeds 1 to 4, or four runs on a live kernel. The full form has more or longer trials, "
            "and runs with as many seeds as it needs.",
            "",
            *_flipping(studies),
            "",
            "## What words mean",
            "",
            "Words have one meaning in all studies (`claims/words.py`). A number that the paper "
            "prints has priority. Comparisons of loss rates are relative to the other scheme's "
            "rate.",
            "",
            *_table(["words", "judged as"], [[word.name, word.meaning] for word in WORDS]),
            "",
            "## Models and settings that differ",
            "",
            *_differing(studies),
            "",
            "## What is not checked",
            "",
            *_table(
                ["claim", "statement", "why"],
                [[c.id, c.statement, c.note] for c in claims if c.verdict == "not checked"],
            ),
            "",
            "No study of this version judges these claims:",
            "",
            *_table(
                ["why", "claims", "number"],
                [[why, _spans(names), str(len(names))] for why, names in LEFT_OUT],
            ),
            "",
        ]
    )


def _by_study(studies: Studies) -> list[str]:
    rows = []
    everything = _claims(studies)
    named = {name: as_claims(locked) for name, (_, locked) in studies.items()}
    for name, claims in {**named, "all": everything}.items():
        tallies = tally(claims)
        cells = [f"[{name}](claims/{name}.md)" if name != "all" else "all"]
        for basis in BASES:
            own = tallies[basis]
            good = own["as stated"] if basis == "setting" else own["holds"]
            count_text = str(own.judged) if basis == "calibrated" else f"{good} of {own.judged}"
            cells.append(count_text if own.judged else "")
        cells += [
            str(sum(own[verdict] for own in tallies.values()) or "")
            for verdict in ("in part", "undecided", "not checked")
        ]
        rows.append(cells)
    return _table(["study", *BASES, "in part", "undecided", "not checked"], rows)


def _doubtful(studies: Studies) -> list[str]:
    return _table(
        ["claim", "study", "statement", "published", "measured", "verdict", "why", "shown by"],
        [
            [
                one.id,
                name,
                one.statement,
                _value(one.published),
                _measured(claim),
                claim.why or claim.verdict,
                joined(one.part and f"Judged: {one.part}", one.note),
                _shown(one),
            ]
            for name, (_, locked) in studies.items()
            for one in locked
            if (claim := one.claim()).verdict in ("fails", "in part")
            and claim.basis in ("simulated", "live")
            and not claim.same_as
        ],
    )


def _shown(one: Locked) -> str:
    """The counterfactuals of a claim: each change, and the result with it."""
    if one.kind in ("", "open"):
        return ""
    return "; ".join(
        f"{each.change}: {outcome.verdict}, {_value(outcome.measured)}"
        for each in one.tries
        if (outcome := each.full or each.quick) is not None
    )


def _undecided(studies: Studies) -> list[str]:
    return _table(
        ["claim", "study", "statement", "published", "measured", "seeds", "why"],
        [
            [
                one.id,
                name,
                one.statement,
                _value(one.published),
                _measured(one.claim()),
                str(one.trials),
                one.note,
            ]
            for name, (_, locked) in studies.items()
            for one in locked
            if one.claim().verdict == "undecided"
        ],
    )


def _flipping(studies: Studies) -> list[str]:
    return _table(
        ["claim", "study", "statement", "full form", "quick form"],
        [
            [one.id, name, one.statement, one.claim().verdict, _seeds(one)]
            for name, (_, locked) in studies.items()
            for one in locked
            if one.flips
        ],
    )


def _differing(studies: Studies) -> list[str]:
    return _table(
        ["claim", "basis", "statement", "published", "found", "why"],
        [
            [c.id, c.basis, c.statement, _value(c.published), _measured(c), c.note]
            for c in _claims(studies)
            if c.basis in ("model", "setting") and c.verdict in ("fails", "differs", "in part")
        ],
    )


def _share(studies: Studies) -> str:
    papers = headline(_claims(studies), "simulated")
    share = f"{100 * papers.share:.1f} %" if papers.share is not None else "none"
    return (
        f"Of {papers.judged} simulated statements of the five papers, {papers.holds} hold and "
        f"{papers.in_part} hold in part ({share})."
    )


def _headline(studies: Studies) -> str:
    claims = _claims(studies)
    papers = [claim for claim in claims if claim.is_published]
    ours = [claim for claim in claims if not claim.is_published]
    columns = [*_VERDICTS, *_KINDS]
    rows: list[list[str | int]] = [
        [f"{whose}, {basis}", *_counts([claim for claim in own if claim.basis == basis])]
        for whose, own in (("papers", papers), ("ours", ours))
        for basis in MEASURED
    ]
    rest = told(
        claim for claim in claims if claim.basis not in MEASURED or claim.verdict == "not checked"
    )
    return "\n".join([
        f"{_share(studies)} {_with_settings(papers)}", "",
        *markdown(["statements", "judged", *columns], rows), "",
        f"In addition: {rest}. {_refutable_count(studies)} statements carry evidence that refutes "
        "them.",
    ])  # fmt: skip


_VERDICTS: tuple[Verdict, ...] = ("holds", "in part", "undecided")
_KINDS = ("refuted", "unknown setting", "open")


def _counts(claims: Sequence[Claim]) -> list[int]:
    """Numbers for a table row: claims judged, claims by verdict, and failed claims by kind."""
    once = unique(claims)
    verdicts = Counter(claim.verdict for claim in once)
    kinds = Counter(claim.why for claim in once if claim.verdict == "fails")
    judged = sum(verdicts.values()) - verdicts["not checked"]
    return [judged, *(verdicts[one] for one in _VERDICTS), *(kinds[one] for one in _KINDS)]


def _with_settings(papers: Sequence[Claim]) -> str:
    """How many more statements would hold with another value of an unprinted setting."""
    simulated = unique([claim for claim in papers if claim.basis == "simulated"])
    more = sum(claim.verdict == "fails" and claim.why == "unknown setting" for claim in simulated)
    found = headline(simulated, "simulated")
    if not (more and found.judged):
        return ""
    share = (found.holds + found.in_part + more) / found.judged
    return (
        f"{more} more hold with another value of a setting that the paper does not print; "
        f"with them it is {100 * share:.1f} %."
    )


def _refutable_count(studies: Studies) -> int:
    """How many statements have spoiled evidence, on which a test shows that the claim can fail."""
    return sum(
        statement.spoil is not None
        for study, _ in studies.values()
        for form in study.forms()
        for statement in form.statements
    )


PARTS: dict[str, Callable[[Studies], str]] = {"headline": _headline, "share": _share}
"""Generated parts of pages by name, in addition to those of the studies."""


# ---- Markdown ----


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return markdown(columns, rows) if rows else ["None."]


def _value(value: float | str | None) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _measured(claim: Claim) -> str:
    unit = f" {claim.unit}" if claim.unit and claim.measured is not None else ""
    return f"{_value(claim.measured)}{unit}"


def _marked(claim: Claim) -> str:
    return f"**{claim.verdict}**" if claim.verdict in ("fails", "differs") else claim.verdict


def _spans(names: Sequence[str]) -> str:
    """Claims of one paper, with ranges of numbers: "C-TH-028 to 031, 033"."""
    prefix = names[0].rpartition("-")[0]
    numbers = sorted(int(name.rpartition("-")[2]) for name in names)
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [f"{a:03}" if a == b else f"{a:03} to {b:03}" for a, b in spans]
    return f"{prefix}-{', '.join(shown)}"
