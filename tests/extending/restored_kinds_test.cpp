// The kinds of this folder and of the examples go on from a saved training, or a saved input, as if nothing had
// happened.
#include <gtest/gtest.h>

#include "examples/custom_input_op/decode_libsvm.h"
#include "examples/custom_input_op/measurement_reader.h"
#include "examples/custom_layer/center.h"
#include "examples/custom_layer/gate.h"
#include "examples/custom_layer/layers.h"
#include "millrace/plugin.h"
#include "millrace/testing.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/checkpoint/every_kind.h"

// Here each file adds its kind to a catalog of the test.
#undef MILLRACE_PLUGIN
#define MILLRACE_PLUGIN(catalog) static void add_swish(millrace::Catalog& catalog)
#include "examples/plugin/swish.cpp"
#undef MILLRACE_PLUGIN
#define MILLRACE_PLUGIN(catalog) static void add_quantile(millrace::Catalog& catalog)
#include "examples/plugin/quantile.cpp"
#undef MILLRACE_PLUGIN
#define MILLRACE_PLUGIN(catalog) static void add_within(millrace::Catalog& catalog)
#include "examples/plugin/within.cpp"
#undef MILLRACE_PLUGIN
#define MILLRACE_PLUGIN(catalog) static void add_sign_sgd(millrace::Catalog& catalog)
#include "examples/plugin/sign_sgd.cpp"

namespace millrace::testing {
namespace {

// Softsign, every and clamp of this folder are among the built-in ones here.
Catalog with_all() {
  Catalog catalog = Catalog::builtin();
  add_swish(catalog);
  add_quantile(catalog);
  add_within(catalog);
  add_sign_sgd(catalog);
  catalog.add_layer<PreluLayer>("prelu");
  catalog.add_layer<CenterLayer>("center");
  catalog.add_layer<GateLayer>("gate");
  catalog.add_op<MeasurementReader>("measurement_reader");
  catalog.add_op<DecodeLibsvm>("decode_libsvm");
  return catalog;
}

TEST(RestoredKinds, LayersGoOn) { check_every_layer(with_all()); }

TEST(RestoredKinds, LossesAndMetricsGoOn) { check_every_loss_and_metric(with_all()); }

TEST(RestoredKinds, OptimizersGoOn) { check_every_optimizer(with_all()); }

TEST(RestoredKinds, OpsGoOn) {
  const TempFolder folder;
  std::string records, lines;
  for (int i = 0; i < 60; ++i) {
    records += {static_cast<char>(i), static_cast<char>(i % 2)};
    lines += cat(i % 2 == 0 ? "+1" : "-1", " 1:", i, i % 3 == 0 ? "" : " 3:0.5", '\n');
  }
  const std::string batches = "{shuffle_batch: {batch_size: 4, min_after_dequeue: 9}}]";
  const std::string queue = "[{filename_queue: {epochs: 2, files: ";
  for (const std::string& list :
       {cat("[{synthetic: {features: 2, rows: 90}}, {clamp: {field: features}}, {every: {rows: 3}}, ", batches),
        cat(queue, quote(folder.write("0.bin", records), 4096),
            "}}, {measurement_reader: {fields: {features: {type: uint8}, label: {type: uint8}}, chunk_bytes: 9}}, ",
            batches),
        cat(queue, quote(folder.write("0.svm", lines), 4096),
            "}}, {csv_reader: {quote: none, chunk_bytes: 30}}, {decode_libsvm: {features: 3}}, ", batches)}) {
    const RestoreCheck check = check_restore(parse_yaml(list, "input.yaml"), with_all().ops, 1000);
    EXPECT_EQ(check.difference, "") << list;
    EXPECT_GT(check.batches, 5) << list;
  }
}

}  // namespace
}  // namespace millrace::testing
