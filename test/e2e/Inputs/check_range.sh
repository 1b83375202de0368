# check_range.sh INPUTS FOLDER TYPE SCALE ROUNDING DEVICE: clip_range.dl with parameters of a type, by each kind of norm.
set -eu
inputs=$1 folder=$2 type=$3 scale=$4 rounding=$5 device=$6
target=$([ "$device" = simt ] && echo --target=cuda:simt || true)
sed "/parameter\|return/s/f32/$type/g; s/-> (a: f32\(.*\)b: f32/-> (a: $type\1b: $type/; s/sum(a) + sum(b)/sum(f32(a)) + sum(f32(b))/" \
  "$inputs/clip_range.dl" > "$folder/range.dl"
[ "$type" != f64 ] || sed -i 's/f32(a)/a/; s/f32(b)/b/' "$folder/range.dl"
for kind in global_norm parameter_norm lars; do
  first=$([ $kind = lars ] && echo 0.5 || echo 0.0)
  dlc "$folder/range.dl" $target -D kind=$kind -D scale="$scale" -D first="$first" -o "$folder/range.so"
  dlc-run step "$folder/range.so" --device "$device" --inputs "$folder/in.safetensors" --save "$folder/range.safetensors"
  python3 "$inputs/check_clip.py" check $kind 0.5 "$folder/range.safetensors" "$scale" "$rounding"
done
