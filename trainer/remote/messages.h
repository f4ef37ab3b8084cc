// What a trainer and its workers say to each other. A message is a State, then parts with bytes for some. Everything is
// checked when it is read: both sides may be anyone.
//
//   trainer                              worker
//   hello: version                       hello, or no: why
//   graph: number, list, seed            graph: number, the worker's view of it, or no: why
//   forget: number                       -
//   id, then file: what, path, ..        file: what there is, or failure
//   id, then decode: graph, unit         chunk, or failure
//   ping                                 -
//
// An answer repeats the id.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "millrace/core/state.h"
#include "millrace/input/graph/graph_units.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

// The version of all this; both sides must have the same, and the same libraries that decode.
inline constexpr uint64_t kWireVersion = 1;

// The kinds of messages, under the key "is".
namespace message {
inline constexpr std::string_view kHello = "hello", kNo = "no", kFile = "file", kGraph = "graph", kDecode = "decode",
                                  kChunk = "chunk", kFailure = "failure", kPing = "ping", kForget = "forget",
                                  kId = "id";
}

State make_message(std::string_view is);
// The message that the parts begin with. Throws DataError if they do not.
State read_message(const ZmqParts& parts);
ZmqParts to_parts(const State& message);
// Adds bytes, cut into parts that no socket refuses.
void add_bytes(ZmqParts& parts, std::string bytes);
// The bytes of all parts after the first. `joined` may receive them.
std::string_view bytes_of(const ZmqParts& parts, std::string& joined);

void set_unit(State& message, const UnitNumbers& unit);
UnitNumbers unit_of(const State& message);

// The versions of Millrace and of the libraries that decode: a worker with others may decode other rows.
std::string decoder_versions();

}  // namespace millrace
