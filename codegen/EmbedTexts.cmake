# Writes files as C++ rows {"name", R"(text)"}. Arguments: OUTPUT, FILES (separated by |).
string(REPLACE "|" ";" FILES "${FILES}")
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND rows "{\"${name}\", R\"DLC(${text})DLC\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${rows}")
