// Reference pages: kinds and keys as text for a terminal, as Markdown, and as JSON. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/cli/reference/reference.h"

namespace millrace::cli {

// One kind: what it does, where it stands, its options with those inside them, and an example.
std::string kind_page(const KindReference& kind);
// All of them, by sort, each with its options.
std::string kinds_text(std::span<const KindReference> kinds);
// Keys, with the path that leads to each.
std::string keys_text(std::span<const PlacedOption> keys);

// docs/config.md: every key and every kind.
std::string config_markdown(const Catalog& catalog);

// {"v":1,"kinds":[..]} and {"v":1,"keys":[..]}, one line each.
std::string kinds_json(std::span<const KindReference> kinds);
std::string keys_json(std::span<const PlacedOption> keys);

}  // namespace millrace::cli
