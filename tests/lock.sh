#!/usr/bin/env bash
# Resolves pyproject.toml's dependencies again and pins them: run-time and build dependencies in
# requirements.lock, further ones of the tests in requirements-dev.lock, of the live suite in
# requirements-live.lock, and of the documentation site in requirements-docs.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=${1:-python3}
venv=$scratch/venv
"$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
wanted() {
	"$venv/bin/python" -c '
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
extras = project["project"]["optional-dependencies"]
groups = {
    "run": project["project"]["dependencies"] + extras["web"] + project["build-system"]["requires"],
    "dev": extras["dev"],
    "live": extras["cluster"] + extras["live"],
    "docs": extras["docs"],
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

for group in live docs; do
	venv=$scratch/$group-venv
	"$python" -m venv "$venv"
	wanted $group >"$scratch/$group"
	pip install --requirement "$scratch/$group" --constraint "$scratch/all.lock"
	frozen >"$scratch/$group.lock"
done

# Prints the entries of lock file $2 that lock file $1 lacks.
beyond() { LC_ALL=C comm -13 <(LC_ALL=C sort "$scratch/$1.lock") <(LC_ALL=C sort "$scratch/$2.lock"); }
{
	echo "# Made by make lock. What Headway runs and is built with."
	cat "$scratch/run.lock"
} >requirements.lock
{
	echo "# Made by make lock. What else its tests and checks need."
	beyond run all
} >requirements-dev.lock
{
	echo "# Made by make lock. What else the live suite needs."
	beyond all live
} >requirements-live.lock
{
	echo "# Made by make lock. What else the documentation site is built with."
	beyond run docs
} >requirements-docs.lock
