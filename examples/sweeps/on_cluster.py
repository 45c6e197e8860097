"""A sweep on the jobs of a cluster that dask-jobqueue starts.

    pip install 'headway[cluster]' dask-jobqueue
    python on_cluster.py controls.toml /shared/results/controls --jobs 20
    python on_cluster.py controls.toml results/controls --local --jobs 2

The results folder must be on a file system that all nodes share. Dask gives the runs of a job that
ends to others; the same command continues a sweep that was stopped.
"""

import argparse
import subprocess
import sys


def start(jobs: int, *, local: bool):
    """A cluster with this many jobs of two workers each."""
    if local:
        from distributed import LocalCluster

        return LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
    from dask_jobqueue import SLURMCluster  # or PBSCluster, SGECluster, LSFCluster, ...

    cluster = SLURMCluster(cores=2, processes=2, memory="2GB", walltime="01:00:00")
    cluster.scale(jobs=jobs)
    return cluster


def main() -> int:
    """Start the cluster, and run the sweep on it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweep")
    parser.add_argument("results")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--local", action="store_true", help="start workers on this machine")
    options = parser.parse_args()
    with start(options.jobs, local=options.local) as cluster:
        command = ["headway", "sweep", "run", options.sweep, "--out", options.results]
        return subprocess.call([*command, "--on", f"dask:{cluster.scheduler_address}"])


if __name__ == "__main__":
    sys.exit(main())
