#!/usr/bin/env bash
# Everything that needs a real GPU, in one command of less than eight minutes: values of every kernel and library path against the
# CPU, LeNet trained on digits, times of steps and kernels beside their floors and PyTorch, compute-sanitizer on small shapes.
# A short table on the terminal; a JSON record, and what failed checks printed, in bench/results (or --out).
#
# usage: scripts/gpu-check.sh [--device cuda|simt] [--out DIR]     packs what the build made, and runs it
#        scripts/gpu-check.sh --pack FOLDER                        packs only: on a machine without a GPU, for one without a build
#        FOLDER/gpu-check.sh [--device cuda|simt] [--out DIR]      runs the packed checks; they need nothing but libc there
#        FOLDER/gpu-check.sh --only MODEL ...                      only the values of one model, without a record
# --device simt rehearses it all on the CPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

device=cuda out="" pack="" only=""
while [ $# -gt 0 ]; do
  case $1 in
    --device) device=${2:?--device needs cuda or simt}; shift 2 ;;
    --out) out=${2:?--out needs a folder}; shift 2 ;;
    --only) only=${2:?--only needs the name of a model}; shift 2 ;;
    --pack) pack=${2:?--pack needs a folder}; shift 2 ;;
    *) echo "gpu-check.sh: unknown argument $1; the first lines of this script say what it takes" >&2; exit 2 ;;
  esac
done
die() { echo "gpu-check.sh: $*" >&2; exit 1; }

# name of the model, its source, flags of dlc. Each is compiled with the libraries' products and convolutions, and as NAME-own with
# ours. Small ones are for compute-sanitizer, which makes kernels a hundred times slower.
models="lenet:examples/lenet/lenet.dl:
lenet-small:examples/lenet/lenet.dl:-D N=2
mlp-small:examples/mlp/mlp.dl:-D N=4
kernels:bench/gpu/kernels.dl:
linear:bench/gpu/linear.dl:"
limit_mib=60
# No check begins later than this many seconds after the first, and none takes longer than until then.
limit_seconds=440

# ------------------------------------------------------------------------------------------------ packing, in the source tree

pack_into() {
  local folder=$1 root build name source flags
  root=$(dirname "$here")
  build=${DLC_BUILD:-$root/build/release}
  [ -x "$build/bin/dlc" ] && [ -x "$build/bin/dlc-run" ] || die "no dlc in $build/bin: run scripts/build.sh first"
  [ -e "$build/lib/libdlc_cuda.so" ] ||
    die "no libdlc_cuda.so in $build/lib: the build found no CUDA toolkit; scripts/install-deps.sh --cuda brings one"
  mkdir -p "$folder"/{bin,lib,models} || die "cannot make $folder"
  cp "$build/bin/dlc-run" "$build/bin/make-digits" "$folder/bin/" &&
    cp "$build/lib/libdlc_cuda.so" "$folder/lib/" &&
    cp "$here/gpu-check.sh" "$root/bench/gpu/rivals.py" "$folder/" || die "cannot copy to $folder"
  while IFS=: read -r name source flags; do
    # shellcheck disable=SC2086
    "$build/bin/dlc" "$root/$source" $flags --target=cpu:avx2 -o "$folder/models/$name.cpu.so" &&
      "$build/bin/dlc" "$root/$source" $flags --target=cuda:sm_80,sm_90,simt -o "$folder/models/$name.cuda.so" &&
      "$build/bin/dlc" "$root/$source" $flags --target=cuda:sm_80,sm_90,simt --gemm=own --conv-algorithm=own \
        -o "$folder/models/$name-own.cuda.so" ||
      die "cannot compile $source"
  done <<<"$models"
  git -C "$root" rev-parse --short HEAD >"$folder/commit" 2>/dev/null || echo unknown >"$folder/commit"
  local size
  size=$(du -sm "$folder" | cut -f1)
  [ "$size" -le $limit_mib ] || die "$folder has $size MiB, more than $limit_mib"
  echo "packed $size MiB into $folder"
}

if [ ! -d "$here/models" ]; then
  [ -n "$pack" ] && { pack_into "$pack"; exit 0; }
  folder=$(dirname "$here")/build/gpu-check
  rm -rf "$folder"
  pack_into "$folder"
  exec "$folder/gpu-check.sh" --device "$device" --out "${out:-$(dirname "$here")/bench/results}"
fi
[ -z "$pack" ] || die "--pack works in the source tree only"

# ------------------------------------------------------------------------------------------------------ running the checks

out=${out:-$here/results}
mkdir -p "$out" || die "cannot make $out"
file="$out/$(date +%F)-gpu-check-$device"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/checks" "$work/rivals" "$work/times"
rm -f "$file.log"
failed=0
begun=$SECONDS

left() { # left [MOST]: seconds that a command may take, two minutes at most if not said otherwise
  local rest=$((begun + limit_seconds - SECONDS)) most=${1:-120}
  echo $((rest > most ? most : rest > 1 ? rest : 1))
}
run() { timeout "$(left)" "$here/bin/dlc-run" "$@"; }
json_text() { # the first line of what it reads, as a JSON string
  head -n 1 | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/"/'
}
number() { # number KEY FILE: the last value of a key in a file of JSON lines
  grep -o "\"$1\": *[-0-9.e+]*" "$2" | tail -n 1 | cut -d: -f2 | tr -d ' '
}
row() { printf '  %-38s %-8s %5s s  %s\n' "$1" "$2" "$3" "$4"; }
note() { # note NAME OK SECONDS DETAIL: a check of the record; OK is true, false or null where it was left out
  printf '%s{"name":%s,"ok":%s,"seconds":%d,"detail":%s}' "$([ -s "$work/checks" ] && echo ,)" "$(json_text <<<"$1")" "$2" "$3" \
    "$(json_text <<<"$4")" >>"$work/checks"
}
left_out() {
  row "$1" "left out" 0 "$2"
  note "$1" null 0 "$2"
}

# check NAME COMMAND...: its last line is the detail, or the first error; all that a failed one printed goes to the log.
check() {
  local name=$1 start=$SECONDS result=ok detail status=0
  shift
  [ $((SECONDS - begun)) -lt $limit_seconds ] || { left_out "$name" "no time left"; return; }
  "$@" >"$work/log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    detail=$(tail -n 1 "$work/log")
  else
    [ $status -eq 124 ] && echo "took too long: $((SECONDS - start)) s" >>"$work/log"
    result=failed failed=$((failed + 1))
    detail=$(grep -m 1 -iE 'error|took too long' "$work/log" || tail -n 1 "$work/log")
    { echo "== $name: status $status"; head -c 200000 "$work/log"; } >>"$file.log"
  fi
  row "$name" "$result" $((SECONDS - start)) "${detail:0:120}"
  note "$name" "$([ $result = ok ] && echo true || echo false)" $((SECONDS - start)) "$detail"
}

run device --device "$device" >"$work/device" 2>"$work/error" || die "$(sed 's/^error: //' "$work/error")"
echo "gpu-check on $(grep -oE '"(name|device)":"[^"]*"' "$work/device" | head -n 2 | tail -n 1 | cut -d: -f2 | tr -d '"'), $(date +%F)"

record() { # all that is known so far
  cat >"$file.json" <<RECORD
{"date":"$(date +%FT%T)","commit":"$(cat "$here/commit")","seconds":$((SECONDS - begun)),"failed":$failed,
"device":$(cat "$work/device"),
"checks":[$(cat "$work/checks")],
"times":{$(cat "$work/times")},
"rivals":[$(paste -sd, "$work/rivals")]}
RECORD
}

# Values: each kernel's and library call's results against the CPU's, once command by command, once as a graph.
parity() {
  run check "$here/models/${1%-own}.cpu.so" "$here/models/$1.cuda.so" --device-a cpu --device-b "$device" "${@:2}"
}
while IFS=: read -r model _; do
  [ -z "$only" ] || [ "$only" = "$model" ] || continue
  for name in "$model" "$model-own"; do
    case $device:$name in simt:lenet* | simt:mlp-small*) steps=1 ;; *) steps=3 ;; esac # these take the SIMT device seconds
    check "values of $name, each layer" parity "$name" --activations --steps $steps
    [ "$device" = simt ] || check "values of $name, as a graph" parity "$name" --steps 5
  done
done <<<"$models"

if [ -n "$only" ]; then
  echo "$([ $failed -eq 0 ] && echo "all checks pass" || echo "$failed checks failed")"
  exit $((failed > 0))
fi

# Training: LeNet learns digits.
train() {
  local length=(--epochs 2)
  [ "$device" = simt ] && length=(--steps 8)
  run train "$here/models/$1.cuda.so" --device "$device" --data "idx:$work/digits" --seed 1 --json "${length[@]}" \
    >"$work/training" || return 1
  if [ "$device" = simt ]; then
    local first last
    first=$(head -n 1 "$work/training" >"$work/first" && number loss "$work/first")
    last=$(number loss "$work/training")
    awk -v a="$first" -v b="$last" 'BEGIN { exit !(b < a) }' || { echo "error: loss went from $first to $last"; return 1; }
    echo "loss fell from $first to a mean of $last in 8 steps"
  else
    local accuracy
    accuracy=$(number test_accuracy "$work/training")
    awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 0.95) }' || { echo "error: test accuracy $accuracy, below 0.95"; return 1; }
    echo "test accuracy $accuracy after 2 epochs, $(number images_per_second "$work/training") images/s"
  fi
}
"$here/bin/make-digits" "$work/digits" >/dev/null || die "cannot make digits in $work"
for name in lenet lenet-own; do
  check "training $name on digits" train $name
done

# Times of a step, as a graph and command by command, and of each command beside its floor.
timed=lenet images=64 steps=()
[ "$device" = simt ] && timed=lenet-small images=2 steps=(--steps 1)
bench() { run bench "$here/models/$1.cuda.so" --device "$device" --json "${steps[@]}" "${@:2}"; }
times() {
  local name=$1 part=$work/$1
  bench "$name" >"$part.graph" && bench "$name" --no-cuda-graph >"$part.eager" &&
    bench "$name" --no-cuda-graph --layers >"$part.layers" || return 1
  printf '%s"%s":{"graph":%s,"without_graph":%s,"layers":%s}' "$([ -s "$work/times" ] && echo ,)" "$name" "$(cat "$part.graph")" \
    "$(cat "$part.eager")" "$(cat "$part.layers")" >>"$work/times"
  printf 'LeNet, %d images a step: %.3f ms as a graph, %.3f ms without\n' $images "$(number median_ms "$part.graph")" \
    "$(number median_ms "$part.eager")"
}
for name in $timed $timed-own; do
  check "times of $name" times "$name"
done
record

# PyTorch's time, and how much of it ours is.
if [ "$device" = cuda ]; then
  for name in $timed $timed-own; do
    run bench "$here/models/$name.cuda.so" --device cuda --no-cuda-graph --layers --steps 20 >"$work/slowest" || continue
    printf '\n  the slowest commands of %s\n' "$name"
    sed -n 2p "$work/slowest"
    tail -n +3 "$work/slowest" | sort -k4,4 -rn | head -n 10
  done
  echo
  if python3 -c 'import torch; assert torch.cuda.is_available()' 2>"$work/log"; then
    timeout "$(left 180)" python3 "$here/rivals.py" >"$work/rivals" 2>>"$work/log" ||
      { echo "== PyTorch"; head -c 200000 "$work/log"; } >>"$file.log"
    while read -r line; do
      printf '  PyTorch %-26s %8s ms\n' "$(grep -o '"mode": "[^"]*"' <<<"$line" | cut -d'"' -f4)" "$(number median_ms - <<<"$line")"
    done <"$work/rivals"
    grep -m 1 '"eager"' "$work/rivals" >"$work/torch"
    for name in $timed $timed-own; do
      awk -v dlc="$(number median_ms "$work/$name.graph")" -v eager="$(number median_ms "$work/torch")" -v name="$name" \
        'BEGIN { if (dlc > 0 && eager > 0) printf "  %s is %.2f times as fast as PyTorch eager\n", name, eager / dlc }'
    done
  else
    echo "  PyTorch is not here: left out"
  fi
  record
fi

# Accesses, races, barriers, uninitialised reads; libraries' kernels are NVIDIA's to check, but what we give them is ours.
sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer || true)
sanitized() { # sanitized TOOL ARGUMENTS OF DLC-RUN...
  timeout "$(left)" "$sanitizer" --tool "$1" --error-exitcode 1 "$here/bin/dlc-run" "${@:2}" --device cuda
}
sanitize() { sanitized "$2" bench "$here/models/$1.cuda.so" --no-cuda-graph --steps 1; } # sanitize MODEL TOOL
why="no compute-sanitizer on PATH"
if [ "$device" = cuda ] && [ -n "$sanitizer" ] && ! sanitized memcheck device >"$work/log" 2>&1; then
  # Some machines do not let it at the GPU.
  sanitizer="" why="compute-sanitizer cannot work here: $(grep -m 1 -iE 'error|not supported' "$work/log" || tail -n 1 "$work/log")"
fi
for name in lenet-small kernels; do
  if [ "$device" = simt ]; then
    for seed in 1 2 3; do
      check "orders of $name-own, seed $seed" parity "$name-own" --steps 1 --simt-seed $seed
    done
  elif [ -n "$sanitizer" ]; then
    for tool in memcheck racecheck initcheck synccheck; do
      check "$tool of $name-own" sanitize "$name-own" $tool
    done
  else
    left_out "sanitizer of $name-own" "$why"
  fi
done
if [ -n "$sanitizer" ] && [ "$device" = cuda ]; then
  for name in lenet-small kernels linear; do
    check "memcheck of $name" sanitize "$name" memcheck
  done
fi

record
echo "$([ $failed -eq 0 ] && echo "all checks pass" || echo "$failed checks failed"), $((SECONDS - begun)) s; record in $file.json"
[ $failed -eq 0 ]
