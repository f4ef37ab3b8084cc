#include "millrace/trainer/input/pass_input.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/renamed.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// A buffer that would give every other row.
class Half final : public RowBuffer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "every other row";
  explicit Half(const Options&) {}
  RowSpan pull(int64_t) override { return input().pull(1) ? input().pull(1) : RowSpan{}; }
  void save(State&) const override {}
  void restore(const State&) override {}
};

class Join final : public RowBuffer {
 public:
  using Options = Half::Options;
  static constexpr std::string_view kDoc = "rows of two inputs";
  explicit Join(const Options&) {}
  std::vector<PortType> inputs() const override { return {PortType::rows, PortType::rows}; }
  RowSpan pull(int64_t at_most) override { return input().pull(at_most); }
  void save(State&) const override {}
  void restore(const State&) override {}
};

// Adds to one field, or makes another one of it.
class Shift final : public Transform {
 public:
  struct Options {
    std::string field = "label";
    std::string as;
    void declare(OptionReader& o) {
      o.optional("field", field, "which");
      o.stands_alone("field");
      o.optional("as", as, "the name of the result; empty: the field's");
    }
  };
  static constexpr std::string_view kDoc = "adds 1 to a field";
  explicit Shift(Options options) : options_(std::move(options)) {}
  std::optional<std::vector<std::string>> concerned_fields() const override {
    return std::vector{options_.field, options_.as.empty() ? options_.field : options_.as};
  }
  Port bind(const BindArgs& args) override {
    Port out = args.inputs[0];
    const int index = out.rows.find(options_.field);
    if (index < 0) throw ConfigError(cat("there is no field ", options_.field));
    field_ = static_cast<size_t>(index);
    if (!options_.as.empty()) out.rows.fields[field_].name = options_.as;
    rows_ = out.rows;
    return out;
  }
  void apply(Chunk& chunk) const override {
    RowBlock out;
    out.configure(rows_, chunk.rows.size());
    out.resize(chunk.rows.size());
    for (int64_t row = 0; row < chunk.rows.size(); ++row) {
      for (size_t field = 0; field < rows_.fields.size(); ++field) {
        std::memcpy(out.at(field, row), chunk.rows.at(field, row), rows_.fields[field].row_bytes());
      }
      out.id(row) = chunk.rows.id(row);
      *out.row<float>(field_, row) += 1;
    }
    chunk.rows.swap(out);
  }

 private:
  const Options options_;
  size_t field_ = 0;
  RowSpec rows_;
};

// Does not say which fields it reads.
class Silent final : public Transform {
 public:
  using Options = Half::Options;
  static constexpr std::string_view kDoc = "does nothing";
  explicit Silent(const Options&) {}
  Port bind(const BindArgs& args) override { return args.inputs[0]; }
  void apply(Chunk&) const override {}
};

// Throws when it is asked how it would hold columns as texts.
class Untold final : public Transform {
 public:
  struct Options {
    std::vector<std::string> fields;
    void declare(OptionReader& o) {
      o.required("fields", fields, "names");
      o.used_as("fields", OptionUse::fields);
    }
  };
  static constexpr std::string_view kDoc = "does nothing";
  explicit Untold(const Options&) {}
  void apply(Chunk&) const override {}
  std::optional<Spec> texts_of(Spec) const override { throw 5; }
};

// Three rows of the fields that its option lists, of zeros.
class Zeros final : public IndexSource {
 public:
  struct Options {
    std::vector<std::string> fields;
    void declare(OptionReader& o) {
      o.required("fields", fields, "names");
      o.used_as("fields", OptionUse::fields);
    }
  };
  static constexpr std::string_view kDoc = "zeros";
  explicit Zeros(const Options& options)
      : IndexSource("zeros", {.rows = 3, .unit_rows = 3}, std::make_unique<Producer>(options.fields)) {}

 private:
  class Producer final : public Transform {
   public:
    explicit Producer(const std::vector<std::string>& fields) {
      for (const std::string& field : fields) rows_.fields.push_back({field, DType::f32, Shape{1}});
    }
    Port bind(const BindArgs&) override { return {.type = PortType::rows, .rows = rows_}; }
    void apply(Chunk& chunk) const override {
      chunk.rows.configure(rows_, 3);
      chunk.rows.resize(3);
      for (int64_t row = 0; row < 3; ++row) {
        chunk.rows.id(row) = id_of(chunk.unit, static_cast<uint64_t>(row));
        for (size_t field = 0; field < rows_.fields.size(); ++field) *chunk.rows.row<float>(field, row) = 0;
      }
    }

   private:
    RowSpec rows_;
  };
};

class PassInputTest : public ::testing::Test {
 protected:
  PassInputTest() {
    registry_.add<Half>("half");
    registry_.add<Join>("join");
    registry_.add<Shift>("shift");
    registry_.add<Zeros>("zeros");
  }

  static std::string source(const std::string& files, const std::string& more = {}) {
    return cat("- filename_queue: {files: ", quote(files, 4096), more, "}\n- csv_reader\n");
  }
  Spec list_of(const std::string& yaml) const {
    Spec list = parse_yaml(yaml, "c.yaml");
    list.set_path("input");
    return list;
  }
  std::string pass_of(const std::string& yaml) const {
    const Spec list = list_of(yaml);
    return to_yaml(pass_input({.input = list, .registry = registry_}).list);
  }
  std::string error_of_pass(const std::string& yaml) const {
    return error_of<ConfigError>([&] { pass_of(yaml); });
  }

  // The places of all rows, in order; with `field`, its values instead.
  std::vector<std::string> rows_of(const PassInput& pass, const std::string& field = {}) const {
    Executor executor(2);
    Pipeline pipeline(pass.build(registry_), {.executor = &executor});
    RowBlock batch = pipeline.make_slot();
    std::vector<std::string> out;
    while (pipeline.next(batch) > 0) {
      for (int64_t row = 0; row < batch.size(); ++row) {
        const int index = batch.spec().find(field);
        out.push_back(index < 0 ? std::filesystem::path(pipeline.place(batch.id(row)).text()).filename().string()
                                : cat(*batch.row<float>(static_cast<size_t>(index), row)));
      }
    }
    return out;
  }

  TempFolder folder_;
  OpRegistry registry_ = builtin_ops();
};

TEST_F(PassInputTest, AValueInPlaceOfOptionsStaysWhatItMeans) {
  folder_.write("a.csv", "1,0\n2,1\n");
  const Spec list = list_of(source(folder_.path("*.csv")) +
                            "- decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}}}\n"
                            "- shift: features\n- batch: {batch_size: 2}\n");
  EXPECT_EQ(rows_of(pass_input({.input = list, .registry = registry_}), "features"),
            (std::vector<std::string>{"2", "3"}));
}

TEST_F(PassInputTest, ColumnsAreKeptAsTexts) {
  folder_.write("a.csv", "id,x,note\n7,1,NA\n,2,\n");
  const Spec list = list_of(cat("- filename_queue: {files: ", quote(folder_.path("a.csv"), 4096),
                                "}\n- csv_reader: {header: true}\n- decode_csv: {fields: {x: {columns: x}, label: "
                                "{columns: label}}, missing: [NA]}\n- batch: {batch_size: 2}\n"));
  PassArgs args = {.input = list,
                   .registry = registry_,
                   .wanted = std::vector<std::string>{"x"},
                   .unwanted = {"label"},
                   .keep = {"note", "id"},
                   .keep_place = {"--keep"}};
  const PassInput pass = pass_input(args);
  Pipeline pipeline(pass.build(registry_), {});
  RowBlock batch = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(batch), 2);
  const auto field = static_cast<size_t>(batch.spec().find(kKept));
  EXPECT_EQ(batch.varying(field, 0).text(0), "NA") << "a missing value is kept as it stands";
  EXPECT_EQ(batch.varying(field, 0).text(1), "7");
  EXPECT_EQ(batch.varying(field, 1).text(0), "");
  args.keep = {"nte"};
  const PassInput wrong = pass_input(args);
  EXPECT_EQ(error_of<ConfigError>([&] { wrong.build(registry_); }),
            cat("--keep: the header of ", folder_.path("a.csv"), " has no column \"nte\"; did you mean note?"));
}

TEST_F(PassInputTest, AnOpThatThrowsWhereColumnsAreKeptIsNamed) {
  registry_.add<Untold>("untold");
  const Spec list = list_of("- zeros: {fields: [a]}\n- untold: {fields: [a]}\n- batch: {batch_size: 2}\n");
  const std::string error = error_of<InternalError>(
      [&] { pass_input({.input = list, .registry = registry_, .keep = {"b"}, .keep_place = {"--keep"}}); });
  EXPECT_TRUE(error.ends_with("untold: an exception of unknown type")) << error;
}

TEST_F(PassInputTest, ReadsEveryRowOnceInMatchedOrder) {
  for (const char* name : {"a.csv", "b.csv", "c.csv"}) folder_.write(name, "1,0\n2,1\n");
  const Spec list = list_of(source(folder_.path("*.csv"), ", epochs: 7, shard: {index: 1, count: 2}") +
                            "- decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}}}\n- half\n"
                            "- shuffle_batch: {batch_size: 4, capacity: 9, min_after_dequeue: 3, name: draw}\n");
  const PassInput pass = pass_input({.input = list, .registry = registry_});
  EXPECT_EQ(rows_of(pass),
            (std::vector<std::string>{"a.csv:1", "a.csv:2", "b.csv:1", "b.csv:2", "c.csv:1", "c.csv:2"}));
  EXPECT_EQ(pass.left_out, (std::vector<std::string>{"filename_queue.shard", "half"}));
  EXPECT_EQ(pass.build(registry_).output().batch_size, 4);
}

TEST_F(PassInputTest, WritesTheListAnew) {
  EXPECT_EQ(pass_of("- filename_queue: {files: [a, b], name: files}\n- csv_reader: {header: true, readers: 3}\n"
                    "- decode_csv: {fields: {x: {columns: 0}}, on_bad_row: skip, max_bad_rows: 3, bad_rows_file: f}\n"
                    "- half\n- shift\n- shuffle_batch: {batch_size: 4, capacity: 9, min_after_dequeue: 3}\n- shift\n"),
            "- filename_queue: {name: files, files: [a, b], shuffle: false, epochs: 1}\n"
            "- csv_reader: {name: csv_reader, header: true}\n"
            "- decode_csv:\n    name: decode_csv\n    fields: {x: {columns: 0}}\n    on_bad_row: fail\n"
            "- shift: {name: shift}\n"
            "- batch: {name: shuffle_batch, batch_size: 4, allow_smaller_final_batch: true}\n"
            "- shift: {name: shift_2}\n");
}

// Nothing is drawn in a pass; what changes no row goes no further than that.
TEST_F(PassInputTest, NothingIsRandom) {
  const std::string image = source("x") + "- decode_csv: {fields: {image: {columns: 0-3, reshape: [1, 2, 2]}}}\n";
  const std::string augmented =
      pass_of(image + "- augment: {fields: image, crop: [1, 1], noise: 1}\n- batch: {batch_size: 2}\n");
  EXPECT_NE(augmented.find("- augment: {name: augment, fields: image, crop: [1, 1], noise: 1, random: false}\n"),
            std::string::npos)
      << augmented;
  EXPECT_EQ(pass_of(augmented), augmented);
}

TEST_F(PassInputTest, RowsAreNotAugmented) {
  folder_.write("a.csv", "1,2,3,4,5,0\n6,7,8,9,10,0\n");
  const auto values = [&](const std::string& options) {
    const Spec list = list_of(source(folder_.path("a.csv")) +
                              "- decode_csv: {fields: {image: {columns: 0-4, reshape: [1, 1, 5]}}}\n- augment: {" +
                              options + "}\n- batch: {batch_size: 2}\n");
    return rows_of(pass_input({.input = list, .registry = registry_}), "image");
  };
  EXPECT_EQ(values("fields: image, shift: [0, 4], flip: both, noise: 3, random: true"),
            (std::vector<std::string>{"1", "6"}));
  EXPECT_EQ(values("fields: image, shift: [0, 4], crop: [1, 2], noise: 3"), (std::vector<std::string>{"2", "7"}));
}

TEST_F(PassInputTest, IsItsOwnPass) {
  const std::string once =
      pass_of(source("x") + "- decode_csv: {fields: {x: {columns: 0}}}\n- half\n- half\n- batch: {batch_size: 2}\n");
  EXPECT_EQ(pass_of(once), once);
}

TEST_F(PassInputTest, FollowsNamesPastWhatGoes) {
  EXPECT_EQ(pass_of("- synthetic: {rows: 5, name: s}\n- half: {from: s, name: one}\n- half: {from: one, name: two}\n"
                    "- batch: {batch_size: 2, from: two}\n"),
            "- synthetic: {name: s, rows: 5}\n"
            "- batch: {name: batch, batch_size: 2, allow_smaller_final_batch: true}\n");
  // Where another op stands between, the name is written.
  EXPECT_EQ(pass_of("- synthetic: {rows: 5, name: s}\n- half: {name: one}\n- synthetic: {rows: 5, name: t}\n"
                    "- batch: {batch_size: 2, from: one}\n"),
            "- synthetic: {name: s, rows: 5}\n- synthetic: {name: t, rows: 5}\n"
            "- batch: {name: batch, from: s, batch_size: 2, allow_smaller_final_batch: true}\n");
}

TEST_F(PassInputTest, OpsKeepTheirPlacesAndPaths) {
  const Spec list = list_of("- synthetic: {rows: 5}\n- half\n- batch: {batch_size: 2}\n");
  const PassInput pass = pass_input({.input = list, .registry = registry_});
  const Spec& batch = pass.list.items()[1];
  EXPECT_EQ(batch.place().text(), "c.yaml:3:3");
  const Spec& size = *batch.find("batch")->find("batch_size");
  EXPECT_EQ(size.path(), "input[2].batch.batch_size");
  EXPECT_EQ(size.place().text(), "c.yaml:3:23");
}

TEST_F(PassInputTest, ReadsTheFilesThatAreGiven) {
  folder_.write("old.csv", "1\n");
  folder_.write("new.csv", "2\n3\n");
  const Spec list = list_of(source(folder_.path("old.csv")) +
                            "- decode_csv: {fields: {x: {columns: 0}}}\n- batch: {batch_size: 2}\n");
  Spec files = Spec::list(Place{"--data"});
  files.append(Spec::scalar(folder_.path("new.csv"), true, Place{"--data"}));
  EXPECT_EQ(rows_of(pass_input({.input = list, .registry = registry_, .files = files})),
            (std::vector<std::string>{"new.csv:1", "new.csv:2"}));
  *files.item(0) = Spec::scalar("none.csv", true, Place{"--data"});
  const PassInput none = pass_input({.input = list, .registry = registry_, .files = files});
  EXPECT_TRUE(
      error_of<MissingError>([&] { none.build(registry_); }).starts_with("--data: no file matches \"none.csv\""));
  const Spec made = list_of("- synthetic: {rows: 5}\n- batch: {batch_size: 2}\n");
  EXPECT_EQ(error_of<ConfigError>([&] { pass_input({.input = made, .registry = registry_, .files = files}); }),
            "c.yaml:1:1: input: the rows come from synthetic, which names no files; replace the whole list: "
            "input=[{filename_queue: {files: x.csv}}, csv_reader, ..]");
}

TEST_F(PassInputTest, ReadsTheFilesThatAreGivenForEachField) {
  const Spec list = list_of(
      "- npy_reader: {fields: {features: x.npy, label: y.npy}, shard: {index: 0, count: 2}}\n"
      "- batch: {batch_size: 2}\n");
  const auto fields_with = [&](const std::string& files) {
    const PassInput pass = pass_input({.input = list, .registry = registry_, .files = parse_yaml(files, "f.yaml")});
    EXPECT_EQ(pass.left_out, (std::vector<std::string>{"npy_reader.shard"}));
    std::string out;
    for (const auto& [name, paths] : pass.list.items()[0].find("npy_reader")->find("fields")->entries()) {
      out += cat(out.empty() ? "" : "; ", name, ": ", join(OptionType<std::vector<std::string>>::read(paths), ", "));
    }
    return out;
  };
  EXPECT_EQ(fields_with("{features: [a.npy, b.npy], label: c.npy}"), "features: a.npy, b.npy; label: c.npy");
  EXPECT_EQ(fields_with("[features=a.npy, label=c=d.npy, features=b.npy]"), "features: a.npy, b.npy; label: c=d.npy");
  EXPECT_EQ(fields_with("features=a.npy"), "features: a.npy");
}

// What an op found in the training's data, it does not look for in other data.
TEST_F(PassInputTest, OpsReadOtherFilesByWhatTheTrainingFound) {
  const Spec list = parse_yaml("- image_folder: {name: pictures, dir: d}\n- batch: {batch_size: 1}\n", "c.yaml");
  const Spec files = Spec::of("new");
  const auto classes_with = [&](const Spec& found, const Spec& input) {
    const PassInput pass = pass_input(
        {.input = input, .registry = builtin_ops(), .files = files, .found = found.is_null() ? nullptr : &found});
    const Spec& options = *pass.list.items()[0].find("image_folder");
    EXPECT_EQ(options.find("dir")->as_string(), "new");
    const Spec* classes = options.find("classes");
    return classes == nullptr ? std::vector<std::string>() : OptionType<std::vector<std::string>>::read(*classes);
  };
  const std::vector<std::string> cat_and_dog = {"cat", "dog"};
  const Spec classes = OptionType<std::vector<std::string>>::write(cat_and_dog);
  const Spec found = Spec::map().set("pictures", Spec::map().set("classes", classes).set("no such option", 1));
  EXPECT_EQ(classes_with(found, list), cat_and_dog);
  EXPECT_TRUE(classes_with({}, list).empty());
  EXPECT_TRUE(classes_with(Spec::map().set("others", Spec::map().set("classes", classes)), list).empty());
  const Spec written =
      parse_yaml("- image_folder: {name: pictures, dir: d, classes: [dog]}\n- batch: {batch_size: 1}\n", "c.yaml");
  EXPECT_EQ(classes_with(found, written), std::vector<std::string>{"dog"});
}

TEST_F(PassInputTest, RefusesWhatHasNoSinglePass) {
  EXPECT_EQ(error_of_pass("- synthetic: {rows: 5, name: a}\n- synthetic: {rows: 5, name: b}\n- join: {from: [a, b]}\n"
                          "- batch: {batch_size: 2}\n"),
            "c.yaml:3:3: input[2]: join joins 2 inputs, but the data are read in one pass, in one order; one "
            "filename_queue may name all files: files: [a.csv, b.csv]");
  const Spec list = list_of("- synthetic\n- batch: {batch_size: 2}\n");
  const PassInput pass = pass_input({.input = list, .registry = registry_});
  EXPECT_EQ(error_of<ConfigError>([&] { pass.build(registry_); }),
            "c.yaml:1:1: input: the data of synthetic never end, but they are to be read once; say how many rows "
            "synthetic gives");
  EXPECT_EQ(error_of_pass("- synthetic: {row: 5}\n- batch: {batch_size: 2}\n"),
            "c.yaml:1:15: input[0].synthetic: unknown key row; did you mean rows?");
}

TEST_F(PassInputTest, OnlyWantedFieldsAreDecoded) {
  folder_.write("a.csv", "1,x\n2,y\n");
  const Spec list = list_of(source(folder_.path("a.csv")) +
                            "- decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}, w: {columns: 7}}}\n"
                            "- batch: {batch_size: 2}\n");
  const PassInput pass = pass_input({.input = list, .registry = registry_, .wanted = {{"features"}}});
  EXPECT_EQ(rows_of(pass, "features"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(pass.not_decoded, (std::vector<std::string>{"label", "w"}));
  EXPECT_TRUE(pass.left_out.empty());
}

TEST_F(PassInputTest, ASourceStaysWhateverIsWanted) {
  const Spec list = list_of("- zeros: {fields: [a, b]}\n- batch: {batch_size: 2}\n");
  const auto pass_for = [&](const char* wanted) {
    return pass_input({.input = list, .registry = registry_, .wanted = {{wanted}}});
  };
  const std::vector<std::string> rows = {"zeros:1", "zeros:2", "zeros:3"};
  EXPECT_EQ(rows_of(pass_for("features")), rows) << "none of its fields is";
  EXPECT_EQ(rows_of(pass_for("b")), rows);
  EXPECT_EQ(to_yaml(*pass_for("b").list.items()[0].find("zeros")->find("fields")), "- b\n");
}

TEST_F(PassInputTest, TransformsOfUnwantedFieldsGo) {
  folder_.write("a.csv", "1\n2\n");
  const std::string head = source(folder_.path("a.csv")) +
                           "- decode_csv: {fields: {features: {columns: 0}, y: {columns: 5}, part: {columns: 0}}}\n";
  const auto fields_of = [&](const std::string& transforms) {
    const Spec list = list_of(head + transforms + "- batch: {batch_size: 2}\n");
    const PassInput pass =
        pass_input({.input = list, .registry = registry_, .wanted = {{"features"}}, .unwanted = {"label"}});
    return cat(join(pass.not_decoded), " | ", join(pass.left_out), " | ", join(rows_of(pass, "features")));
  };
  // What makes the label goes with what it is made of, in two steps as well; what is left of other fields stays.
  EXPECT_EQ(fields_of("- shift: {field: y, as: label}\n- shift: {field: features}\n"), "part and y | shift | 2 and 3");
  EXPECT_EQ(fields_of("- shift: {field: y, as: z}\n- shift: {field: z, as: label}\n"),
            "part and y | shift and shift_2 | 1 and 2");
  EXPECT_EQ(fields_of("- shift: {field: part}\n"), "y |  | 1 and 2");
}

TEST_F(PassInputTest, ATransformOfWantedFieldsKeepsItsOthers) {
  const Spec list = list_of(source("x") +
                            "- decode_csv: {fields: {a: {columns: 0}, label: {columns: 1}}}\n"
                            "- shift: {field: label, as: features}\n- batch: {batch_size: 2}\n");
  const PassInput pass =
      pass_input({.input = list, .registry = registry_, .wanted = {{"features"}}, .unwanted = {"label"}});
  EXPECT_EQ(pass.not_decoded, std::vector<std::string>{"a"});
  EXPECT_TRUE(pass.left_out.empty());
}

// What is augmented together is read apart: an image without its mask.
TEST_F(PassInputTest, AugmentedFieldsThatAreNotWantedAreNotDecoded) {
  folder_.write("a.csv", "1,2,3\n4,5,6\n");
  const auto pass_with = [&](const std::string& fields, std::vector<std::string> wanted) {
    const Spec list = list_of(source(folder_.path("a.csv")) +
                              "- decode_csv: {fields: {image: {columns: 0-2, reshape: [1, 1, 3]}, label: {columns: "
                              "7-9, reshape: [1, 1, 3]}, other: {columns: 8, reshape: [1, 1, 1]}}}\n- augment: {name: "
                              "a, fields: " +
                              fields + ", crop: [1, 1]}\n- augment: {name: b, fields: other, noise: 1}\n" +
                              "- batch: {batch_size: 2}\n");
    return pass_input({.input = list, .registry = registry_, .wanted = std::move(wanted), .unwanted = {"label"}});
  };
  const PassInput image = pass_with("[image, label]", {"image"});
  EXPECT_EQ(rows_of(image, "image"), (std::vector<std::string>{"2", "5"}));
  EXPECT_EQ(image.not_decoded, (std::vector<std::string>{"label", "other"}));
  EXPECT_EQ(image.left_out, std::vector<std::string>{"b"});
  EXPECT_EQ(image.list.items()[3].find("a"), nullptr);
  const Spec& fields = *image.list.items()[3].find("augment")->find("fields");
  EXPECT_EQ(fields.path(), "input[3].augment.fields");
  EXPECT_EQ(to_yaml(fields), "- image\n");
  EXPECT_EQ(pass_with("label", {"image"}).left_out, (std::vector<std::string>{"a", "b"}));
  const PassInput both = pass_with("[image, label]", {"image", "label"});
  EXPECT_EQ(to_yaml(*both.list.items()[3].find("augment")->find("fields")), "- image\n- label\n");
}

TEST_F(PassInputTest, SaysWhatToDoWhereAColumnBeforeTheWantedOnesIsMissing) {
  folder_.write("a.csv", "1,2\n");
  const Spec list = list_of(source(folder_.path("a.csv")) +
                            "- decode_csv: {fields: {label: {columns: 0}, features: {columns: 1-2}}}\n"
                            "- batch: {batch_size: 2}\n");
  const PassInput pass = pass_input({.input = list, .registry = registry_, .wanted = {{"features"}}});
  EXPECT_EQ(error_of<ConfigError>([&] { pass.build(registry_); }),
            cat("c.yaml:3:66: input[2].decode_csv.fields.features.columns: there is no column 2: the records of ",
                folder_.path("a.csv"),
                " have 2 "
                "columns (0 to 1); the columns that are not read (label) may be missing in files without a header only "
                "if they stand after all others: keep an empty column, or set the columns anew"));
}

TEST_F(PassInputTest, WithAHeaderTheLabelMayBeAnywhere) {
  folder_.write("a.csv", "x,z\n1,2\n");
  const Spec list = list_of(cat("- filename_queue: {files: ", quote(folder_.path("a.csv"), 4096),
                                "}\n- csv_reader: {header: true}\n- decode_csv: {fields: {label: {columns: y}, "
                                "features: {columns: [x, z]}}}\n- batch: {batch_size: 2}\n"));
  const PassInput pass = pass_input({.input = list, .registry = registry_, .wanted = {{"features"}}});
  EXPECT_EQ(rows_of(pass), std::vector<std::string>{"a.csv:2"});
}

TEST_F(PassInputTest, TheSideThatWasHeldOutIsThatOfTheTraining) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += i % 10 == 3 ? "x\n" : cat(i, '\n');
  folder_.write("a.csv", text);
  const auto list = [&](const std::string& decode, const std::string& behind) {
    return list_of(cat(source(folder_.path("a.csv"), ", epochs: 3"), "- decode_csv: {fields: {label: {columns: 0}}",
                       decode, "}\n- hold_out: {share: 0.3}\n", behind,
                       "- shuffle_batch: {batch_size: 7, capacity: 50, min_after_dequeue: 9}\n"));
  };
  const auto held = [&](const Spec& written) {
    const PassInput pass = pass_input({.input = written, .registry = registry_, .held_out = true});
    return rows_of(pass, "label");
  };
  const std::string skip = ", on_bad_row: skip, max_bad_rows: 30, bad_rows_file: b.jsonl";
  const std::vector<std::string> rows = held(list(skip, ""));
  EXPECT_GT(rows.size(), 10u);
  EXPECT_LT(rows.size(), 45u);
  EXPECT_EQ(held(list(skip, "- take: {rows: 5}\n- skip: {rows: 1}\n")), rows) << "those count rows of the training";
  EXPECT_THROW(held(list("", "")), DataError) << "a bad row is an error where it is one in the training";
  EXPECT_THROW(held(list(", on_bad_row: skip, max_bad_rows: 5", "")), DataError);
  EXPECT_FALSE(std::filesystem::exists("b.jsonl"));

  // Everything else reads every row, and is not forgiving.
  const Spec whole = list(skip, "");
  const PassInput all = pass_input({.input = whole, .registry = registry_});
  EXPECT_THROW(rows_of(all, "label"), DataError);
}

TEST_F(PassInputTest, BadRowsFareAsTheListSaysIfThatIsWanted) {
  folder_.write("a.csv", "1\nx\n3\n");
  const auto rows = [&](const std::string& options) {
    const Spec list = list_of(cat(source(folder_.path("a.csv")), "- decode_csv: {fields: {label: {columns: 0}}",
                                  options, "}\n- batch: {batch_size: 2}\n"));
    return rows_of(pass_input({.input = list, .registry = registry_, .own_bad_rows = true}), "label");
  };
  const std::vector<std::string> good = {"1", "3"};
  EXPECT_EQ(rows(", on_bad_row: skip, bad_rows_file: b.jsonl"), good);
  EXPECT_FALSE(std::filesystem::exists("b.jsonl"));
  EXPECT_THROW(rows(""), DataError);
  EXPECT_THROW(rows(", on_bad_row: skip, max_bad_rows: 0"), DataError);
}

TEST_F(PassInputTest, NamedFilesAreTheList) {
  EXPECT_FALSE(named_files({}, {"--data"}));
  const Spec files = *named_files({"a.csv", "7"}, {"--data"});
  EXPECT_EQ(to_yaml(files), "- a.csv\n- \"7\"\n");
  EXPECT_EQ(files.items()[1].place(), Place{"--data"});
}

TEST_F(PassInputTest, APassOverEveryRowDoesNotHeedWhatIsHeldOut) {
  folder_.write("a.csv", "1\n2\n3\n");
  const auto text = [&](const std::string& op) {
    return cat(source(folder_.path("a.csv")), "- decode_csv: {fields: {label: {columns: 0}}}\n", op,
               "- batch: {batch_size: 2}\n");
  };
  EXPECT_EQ(pass_of(text("- hold_out: {share: 0.9, seed: 3}\n")), pass_of(text("")));
  const Spec list = list_of(text("- hold_out: {share: 0.9}\n"));
  const PassInput pass = pass_input({.input = list, .registry = registry_});
  EXPECT_EQ(rows_of(pass, "label"), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_TRUE(pass.left_out.empty()) << "no row is missing, so there is nothing to tell";
}

// The field of the groups is read where it decides, even if it is made of what nobody wants; elsewhere new data need
// not have it.
TEST_F(PassInputTest, TheGroupsAreReadOnlyWhereTheyDecide) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += cat(i, ',', i % 10, '\n');
  folder_.write("a.csv", text);
  folder_.write("new.csv", "5\n6\n");
  const auto pass = [&](const std::string& groups, bool held_out, const std::string& file = "a.csv") {
    const Spec list =
        list_of(source(folder_.path(file)) +
                "- decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}, g: {columns: 1}}}\n" + groups +
                "- batch: {batch_size: 2}\n");
    return pass_input(
        {.input = list, .registry = registry_, .wanted = {{"features"}}, .unwanted = {"label"}, .held_out = held_out});
  };
  const std::vector<std::string> held = rows_of(pass("- hold_out: {share: 0.5, group: g}\n", true), "features");
  EXPECT_GT(held.size(), 9u);
  EXPECT_LT(held.size(), 91u);
  EXPECT_EQ(held.size() % 10, 0u) << "whole groups";
  EXPECT_EQ(rows_of(pass("- hold_out: {share: 0.5, group: label}\n", true), "features"), held) << "of the same values";
  const std::string made = "- shift: {field: label, as: h}\n- shift: {field: h}\n- hold_out: {share: 0.5, group: h}\n";
  EXPECT_EQ(pass(made, true).not_decoded, std::vector<std::string>{"g"});
  EXPECT_EQ(rows_of(pass(made, true), "features").size() % 10, 0u);
  EXPECT_EQ(rows_of(pass("- hold_out: {share: 0.5, group: g}\n", false, "new.csv"), "features"),
            (std::vector<std::string>{"5", "6"}));
}

TEST_F(PassInputTest, ExactlyOneOpHoldsRowsOut) {
  folder_.write("a.csv", "1\n2\n");
  const auto error = [&](const std::string& ops) {
    const Spec list = list_of(cat(source(folder_.path("a.csv")), "- decode_csv: {fields: {label: {columns: 0}}}\n", ops,
                                  "- batch: {batch_size: 2}\n"));
    return error_of<ConfigError>([&] { pass_input({.input = list, .registry = registry_, .held_out = true}); });
  };
  EXPECT_EQ(error(""),
            "c.yaml:1:1: input: the rows that were held out are wanted, but no op holds any out; put hold_out: {share: "
            "0.2} after decode_csv");
  EXPECT_EQ(error("- hold_out\n- hold_out: {seed: 1}\n"),
            "c.yaml:1:1: input: the rows that were held out are wanted, but hold_out and hold_out_2 each hold out "
            "others; leave one of them");
}

TEST_F(PassInputTest, TextsOfAVocabularyAreNoNamesOfFields) {
  folder_.write("a.csv", "label,1,features\n");
  const Spec list = list_of(source(folder_.path("a.csv")) +
                            "- decode_csv: {fields: {kind: {columns: 0, type: string}, features: {columns: 1}, other: "
                            "{columns: 2, type: string}}}\n"
                            "- vocabulary: {field: kind, texts: [label, features, other], as: label}\n"
                            "- filter: {field: kind, op: \"!=\", value: features}\n- batch: {batch_size: 2}\n");
  const PassInput pass =
      pass_input({.input = list, .registry = registry_, .wanted = {{"features"}}, .unwanted = {"label"}});
  EXPECT_EQ(pass.left_out, (std::vector<std::string>{"vocabulary", "filter"}));
  EXPECT_EQ(pass.not_decoded, (std::vector<std::string>{"kind", "other"}));
}

// A kind says of its keys what a pass does with them: others with other names fare alike.
TEST_F(PassInputTest, KindsOfOthersFareAsTheBuiltInOnes) {
  registry_.add("paths",
                test::renamed(registry_, "filename_queue",
                              {{"files", "of"}, {"shuffle", "mixed"}, {"epochs", "rounds"}, {"shard", "part"}}));
  registry_.add("lines", test::renamed(registry_, "csv_reader", {{"readers", "at_once"}}));
  registry_.add("decode", test::renamed(registry_, "decode_csv",
                                        {{"fields", "into"},
                                         {"on_bad_row", "if_wrong"},
                                         {"max_bad_rows", "most_wrong"},
                                         {"bad_rows_file", "wrong_file"}}));
  registry_.add("change", test::renamed(registry_, "augment", {{"fields", "images"}, {"random", "chance"}}));
  registry_.add("draw",
                test::renamed(registry_, "shuffle_batch", {{"batch_size", "size"}, {"min_after_dequeue", "window"}}));
  folder_.write("a.csv", "1,5,0\n2,6,1\n");
  folder_.write("b.csv", "3,7,0\n4,8,1\n");
  const Spec list = list_of(cat("- paths: {of: ", quote(folder_.path("*.csv"), 4096),
                                ", rounds: 9, part: {index: 0, count: 2}}\n- lines: {at_once: 2}\n"
                                "- decode: {into: {x: {columns: 0-1, reshape: [1, 1, 2]}, y: {columns: 2}}, "
                                "if_wrong: skip, most_wrong: 3, wrong_file: f.jsonl}\n"
                                "- change: {images: [x], crop: [1, 1], noise: 1}\n- draw: {size: 3, window: 5}\n"));
  const PassInput pass = pass_input({.input = list, .registry = registry_, .wanted = {{"x"}}, .unwanted = {"y"}});
  EXPECT_EQ(rows_of(pass, "x"), (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(pass.left_out, std::vector<std::string>{"paths.part"});
  EXPECT_EQ(pass.not_decoded, std::vector<std::string>{"y"});
  Spec files = Spec::list(Place{"--data"});
  files.append(Spec::scalar(folder_.path("b.csv"), true, Place{"--data"}));
  EXPECT_EQ(rows_of(pass_input({.input = list, .registry = registry_, .files = files}), "y"),
            (std::vector<std::string>{"0", "1"}));
}

// What does not say which fields it reads may read any, but for the label and what that alone is made of.
TEST_F(PassInputTest, AnOpThatDoesNotSayWhatItReadsGetsEverything) {
  registry_.add<Silent>("silent");
  const auto pass_with = [&](const std::string& ops) {
    const Spec list = list_of(source("x") +
                              "- decode_csv: {fields: {x: {columns: 0}, species: {columns: 1, type: string}, z: "
                              "{columns: 2}}}\n" +
                              ops + "- silent\n- batch: {batch_size: 2}\n");
    return pass_input({.input = list, .registry = registry_, .wanted = {{"x"}}, .unwanted = {"label"}});
  };
  const PassInput made = pass_with("- vocabulary: {field: species, texts: [a, b], as: label}\n");
  EXPECT_EQ(made.not_decoded, std::vector<std::string>{"species"});
  EXPECT_EQ(made.left_out, std::vector<std::string>{"vocabulary"});
  EXPECT_TRUE(pass_with("").not_decoded.empty());
}

}  // namespace
}  // namespace millrace
