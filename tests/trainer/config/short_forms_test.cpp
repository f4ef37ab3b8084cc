#include "millrace/trainer/config/short_forms.h"

#include <gtest/gtest.h>

#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"

namespace millrace {
namespace {

using Is = OptionForm::Is;

std::vector<Is> forms(std::string_view path) {
  std::vector<Is> out;
  for (const OptionForm& form : forms_at(path, Catalog::builtin())) out.push_back(form.is);
  return out;
}

TEST(FormsAt, FollowsKeysPositionsAndKinds) {
  EXPECT_EQ(forms(""), std::vector{Is::options});
  EXPECT_EQ(forms("seed"), std::vector{Is::integer});
  EXPECT_EQ(forms("validation.keep_best"), (std::vector{Is::flag, Is::text, Is::options}));
  EXPECT_EQ(forms("validation.keep_best.metric"), std::vector{Is::text});
  EXPECT_EQ(forms("input"), std::vector{Is::list});
  EXPECT_EQ(forms("input[3]"), std::vector{Is::kind});
  EXPECT_EQ(forms("input[3].batch.batch_size"), std::vector{Is::integer});
  EXPECT_EQ(forms("validation.input[0].batch"), std::vector{Is::options});
  EXPECT_EQ(forms("model[12].dense.units"), std::vector{Is::integer});
  EXPECT_EQ(forms("optimizer.sgd.schedule"), std::vector{Is::kind});
  EXPECT_EQ(forms("optimizer.sgd.schedule.cosine.steps"), std::vector{Is::integer});
  EXPECT_EQ(forms("compare.deliveries[0]"), (std::vector{Is::name, Is::options}));
  EXPECT_EQ(forms("input[0].decode_csv.fields.a.columns").back(), Is::list);
  for (const char* path : {"nothing", "seed.x", "model.dense", "input[0].nothing.x", "model[0", "input[0]x"}) {
    EXPECT_TRUE(forms(path).empty()) << path;
  }
}

TEST(OptionsOfKind, AreTheirsOfTheirSort) {
  const Catalog catalog = Catalog::builtin();
  const auto batch = options_of_kind(catalog.ops.what(), "batch", catalog);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->at(0).name, "batch_size");
  const auto relu = options_of_kind("layer", "relu", catalog);
  ASSERT_TRUE(relu);
  EXPECT_TRUE(relu->empty());
  EXPECT_FALSE(options_of_kind("layer", "batch", catalog));
  EXPECT_FALSE(options_of_kind("layer", "nothing", catalog));
  EXPECT_TRUE(options_of_kind("schedule", "cosine", catalog));
  EXPECT_TRUE(forms_at("model[0].nothing", catalog).empty());
}

TEST(NamesKinds, IsTrueOfKindsAndListsOfThem) {
  for (const char* path : {"input", "input[0]", "metrics", "loss", "optimizer.adam.schedule"}) {
    EXPECT_TRUE(names_kinds(forms_at(path, Catalog::builtin()))) << path;
  }
  for (const char* path : {"", "seed", "compare.deliveries", "delivery", "nothing"}) {
    EXPECT_FALSE(names_kinds(forms_at(path, Catalog::builtin()))) << path;
  }
}

// What is written out is read as the short form is.
TEST(WriteOut, MeansTheSame) {
  const Catalog catalog = Catalog::builtin();
  const auto whole = [&](std::string_view path, const char* text) {
    Spec node = parse_yaml_value(text, {"f.yaml", 1, 1});
    node.set_path(std::string(path));
    write_out(node, forms_at(path, catalog));
    EXPECT_EQ(node.path(), path);
    return node;
  };
  const auto same = [&]<class T>(std::string_view path, const char* text) {
    const Spec written = OptionType<T>::write(OptionType<T>::read(whole(path, text)));
    EXPECT_EQ(to_yaml(written), to_yaml(OptionType<T>::write(OptionType<T>::read(parse_yaml_value(text, {}))))) << text;
  };
  for (const char* text : {"true", "accuracy", "{mode: max}"}) {
    same.operator()<KeepBestOptions>("validation.keep_best", text);
  }
  for (const char* text : {"m.safetensors", "\"true\"", "7", "{file: m, optimizer: true}"}) {
    same.operator()<ModelFileOptions>("save", text);
  }
  for (const char* text : {"queue", "native", "{kind: staging, capacity: 2}"}) {
    same.operator()<DeliveryOptions>("delivery", text);
    same.operator()<CompareItem>("compare.deliveries[0]", text);
  }
  EXPECT_EQ(to_yaml(whole("validation.keep_best", "true")), "{}\n");
  EXPECT_EQ(to_yaml(whole("model[0].reshape", "[1, 2]")), "shape: [1, 2]\n");
  EXPECT_EQ(to_yaml(whole("model[0].flatten", "3")), "3\n") << "nothing stands alone there";
  EXPECT_EQ(to_yaml(whole("seed", "3")), "3\n");
}

}  // namespace
}  // namespace millrace
