#!/usr/bin/env bash
# Resolves pyproject.toml's dependencies anew and pins them: what Headway runs and is built
# with into requirements.lock, what else its tests need into requirements-dev.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${1:-python3}" -m venv "$scratch/venv"
pip() { "$scratch/venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
wanted() {
	"$scratch/venv/bin/python" -c '
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
extras = project["project"]["optional-dependencies"]
groups = {
    "run": project["project"]["dependencies"] + extras["web"] + project["build-system"]["requires"],
    "dev": extras["dev"],
}
print("\n".join(groups[sys.argv[1]]))' "$1"
}
frozen() { pip freeze --exclude pip --exclude setuptools | LC_ALL=C sort -f; }

wanted run >"$scratch/run"
pip install --requirement "$scratch/run"
frozen >"$scratch/run.lock"
wanted dev >"$scratch/dev"
pip install --requirement "$scratch/dev" --constraint "$scratch/run.lock"
frozen >"$scratch/all.lock"
{
	echo "# Made by make lock. What Headway runs and is built with."
	cat "$scratch/run.lock"
} >requirements.lock
{
	echo "# Made by make lock. What else its tests and checks need."
	LC_ALL=C comm -13 <(LC_ALL=C sort "$scratch/run.lock") <(LC_ALL=C sort "$scratch/all.lock")
} >requirements-dev.lock
