# Makes comments of a header into ones that Doxygen reads: // becomes ///, behind a declaration ///<; those of C
# likewise. The comment on top is the file's or, where it begins with the name of a class, that class's. Indented lines
# are code; elsewhere nothing but `this` is markup.
function escaped(text, parts, count, i, out) {
  count = split(text, parts, "`")
  for (i = 1; i <= count; ++i) {
    if (i % 2 == 1) gsub(/[\\@<>&#%]/, "\\\\&", parts[i])
    out = out (i > 1 ? "`" : "") parts[i]
  }
  return out
}

# What stands behind the mark of a line of a comment.
function documentation(text) {
  if (text ~ /^   / && (code || empty)) {
    code = 1
    return "  " text
  }
  empty = text ~ /^ *$/
  if (!empty) code = 0
  return escaped(text)
}

function begin_comment() {
  empty = 1
  code = 0
}

# What `name` is in the file: "class", "struct" or "".
function sort_of(name, line, words, found) {
  while ((getline line < FILENAME) > 0) {
    if (line !~ "^(class|struct) .*" || line ~ /;$/) continue
    split(line, words, /[ :<{]+/)
    if (words[2] == name || words[3] == name) found = words[1]
  }
  close(FILENAME)
  return found
}

NR == 1 && /^\/\// {
  name = substr($2, 1, length($2) - 1)
  sort = $2 ~ /^[A-Z][A-Za-z]*:$/ ? sort_of(name) : ""
  print "/// @file"
  if (sort != "") {
    print "/// " name ".\n\n/// @" sort " millrace::" name
    text = substr($0, length(name) + 6)
    $0 = "// " toupper(substr(text, 1, 1)) substr(text, 2)
  }
}
NR == 1 && /^\/\*/ {
  print "/** @file"
  begin_comment()
  inside = 1
  print " *" documentation(substr($0, 3))
  next
}
/^#pragma once$/ { next }

# C.
inside {
  mark = match($0, / \*/)
  end = index($0, "*/")
  text = mark > 0 && substr($0, mark, 3) != " */" ? documentation(substr($0, mark + 2)) : ""
  if (end > 0) inside = 0
  print " *" (end > 0 && text == "" ? "/" : text)
  next
}
/^ *\/\* / && !/\/\* ----/ {
  begin_comment()
  inside = index($0, "*/") == 0
  sub(/\/\*/, "/**")
  print
  next
}
/[;,] +\/\* .*\*\/$/ {
  sub(/\/\*/, "/**<")
  print
  next
}

# C++.
/^ *\/\/( |$)/ && !/^ *\/\/ NOLINT/ {
  slashes = index($0, "//")
  if (!commented) begin_comment()
  commented = 1
  print substr($0, 1, slashes - 1) "///" documentation(substr($0, slashes + 2))
  next
}
{ commented = 0 }
/[;,] +\/\/ / && !/^#/ && !/\/\/ NOLINT/ {
  at = match($0, / +\/\/ /)
  print substr($0, 1, at - 1) "  ///< " escaped(substr($0, at + RLENGTH))
  next
}
{ print }
