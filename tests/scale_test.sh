#!/usr/bin/env bash
# The files of examples/scale: each is well formed, and the command lines that it runs are those of the program. Each
# shard runs with the environment that its scheduler would set, on fewer cases; then the reports merge as the file says.
set -euo pipefail
program=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf '%s\n' "$1"
  exit 1
}

# In place of the program: the same command line, on fewer cases.
cat >"$scratch/assay" <<END
#!/bin/bash
[[ \$1 == run ]] || exec "$program" "\$@"
arguments=()
while ((\$# > 0)); do
  if [[ \$1 == --cases ]]; then arguments+=(--cases 40); shift 2; else arguments+=("\$1"); shift; fi
done
exec "$program" "\${arguments[@]}" --kernel mqa_logits --property output_enclosed --accept-blunt
END
chmod +x "$scratch/assay"
cd "$scratch"

shard() { # NAME WANTED COMMAND...: the shard's output says what it is
  local name=$1 wanted=$2
  shift 2
  "$@" >printed 2>&1 || { cat printed; fail "$name: a shard failed"; }
  grep -qx "$wanted" printed || { cat printed; fail "$name: did not say '$wanted'"; }
}

merged() { # NAME COMMAND: what the file says to merge with
  bash -c "$2" >printed 2>&1 || { cat printed; fail "$1: '$2' failed"; }
  grep -q '40 cases' printed || { cat printed; fail "$1: the merged report is not the whole run's"; }
}

# Slurm: the directives are comments, the rest is a script of bash.
slurm=$root/examples/scale/run.slurm
bash -n "$slurm"
[[ $(sed -n 's/^#SBATCH --array=//p' "$slurm") == 0-9 ]] || fail "run.slurm: its array is no longer 0-9"
export SLURM_ARRAY_JOB_ID=123 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_COUNT=10
export SLURM_ARRAY_TASK_STEP=1 SLURM_CPUS_PER_TASK=2
for task in {0..9}; do
  SLURM_ARRAY_TASK_ID=$task shard run.slurm "shard $((task + 1))/10: task $task of Slurm's array 0-9" bash "$slurm"
done
merged run.slurm "$(sed -n 's/^#   \(\.\/assay merge-reports .*\)/\1/p' "$slurm")"
rm out/slurm-123/3.json
bash -c './assay merge-reports out/slurm-123/*.json' >printed 2>&1 && fail "run.slurm: merged without a shard"
grep -qx 'assay: shard 4 of 10 is missing' printed || { cat printed; fail "the missing shard is not named"; }
unset "${!SLURM_@}"

python3 -c 'import yaml' 2>/dev/null || {
  echo "skipped: no yaml for python3, so job.yaml and matrix.yml are not read"
  exit 77
}
# Each prints the number of its shards, then a command line for each of them.
python3 - "$root/examples/scale" >lines <<'END'
import shlex, sys, yaml
spec = yaml.safe_load(open(sys.argv[1] + "/job.yaml"))["spec"]
run = spec["template"]["spec"]["containers"][0]
env = {e["name"]: e["value"] for e in run["env"]}
assert int(env["ASSAY_SHARDS"]) == spec["completions"] and spec["completionMode"] == "Indexed"
assert run["command"] == ["/assay/bin/assay"]
for i in range(spec["completions"]):
    words = [a.replace("$(JOB_COMPLETION_INDEX)", str(i)).replace("/out/", "kubernetes/") for a in run["args"]]
    print("kubernetes", i, shlex.join(["env", f"JOB_COMPLETION_INDEX={i}", *(f"{k}={v}" for k, v in env.items()),
                                       "./assay", *words]), sep="\t")
jobs = yaml.safe_load(open(sys.argv[1] + "/matrix.yml"))["jobs"]
parts = jobs["shard"]["strategy"]["matrix"]["part"]
for i, part in enumerate(parts):
    def value(text):
        for name, is_ in {"strategy.job-index": i, "strategy.job-total": len(parts), "github.run_id": 9876543210,
                          "matrix.part": part}.items():
            text = text.replace("${{ %s }}" % name, str(is_))
        assert "${{" not in text, text
        return text
    line = [s["run"] for s in jobs["shard"]["steps"] if "run" in s]
    env = [f"{k}={value(v)}" for k, v in jobs["shard"]["env"].items()]
    print("github", i, shlex.join(["env", "GITHUB_ACTIONS=true", *env]) + " " + value(line[0]), sep="\t")
print("merge", 0, [s["run"] for s in jobs["merge"]["steps"] if "run" in s][0], sep="\t")
END
rm -r out
while IFS=$'\t' read -r kind index line; do
  case $kind in
    kubernetes) shard job.yaml "shard $((index + 1))/10: completion $index of Kubernetes' indexed Job" bash -c "$line" ;;
    github) shard matrix.yml "shard $((index + 1))/4: job $index of GitHub's matrix" bash -c "$line" ;;
    merge) merged matrix.yml "$line" ;;
  esac
done <lines
merged job.yaml "$(sed -n 's/^#   assay \(merge-reports .*\)/.\/assay \1/p' "$root/examples/scale/job.yaml" | sed 's|/out/|kubernetes/|g')"
