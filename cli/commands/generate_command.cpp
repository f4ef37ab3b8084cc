#include <stop_token>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/generate/generate.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

constexpr CommandText kGenerateText = {"generate", "Generates data sets to try things with.",
                                       R"(  trainer generate sum --out DIR [OPTIONS]
  trainer generate images --out DIR [OPTIONS])",
                                       R"(EXAMPLES:
  trainer generate sum --out data/sum --files 20 --rows 100 --force
  trainer generate images --out data/images --files 12 --rows 500
)",
                                       "trainer generate sum --help, trainer generate images --help"};

constexpr CommandText kGenerateSumText = {
    "generate sum", "CSV files of normal numbers, labelled by whether their sum is positive.",
    "  trainer generate sum --out DIR [OPTIONS]",
    R"(Writes DIR/examples-00.csv and so on. Each row is --features numbers and a label, 1.0 or 0.0,
without a header. Equal options give equal bytes.

EXAMPLES:
  trainer generate sum --out data/large --files 20 --rows 100
  trainer generate sum --out data/small --files 2 --rows 10 --features 8 --seed 7
)",
    "trainer generate images, trainer input"};

constexpr CommandText kGenerateImagesText = {
    "generate images", "CSV files of images of ten digits, each drawn in another way.",
    "  trainer generate images --out DIR [OPTIONS]",
    R"(Writes DIR/examples-00.csv and so on. Each row is a label, 0 to 9, and the pixels of a square image,
0 to 255, line by line, like the CSV files of MNIST. There is no header, which csv_reader calls
{header: false}. The digits have seven segments; place, size, slant, thickness, brightness and noise
are drawn for each image. configs/lenet.yaml reads them. Equal options give equal bytes, and a row
depends only on seed, size, file and row.

EXAMPLES:
  trainer generate images --out data/digits --files 12 --rows 500
  trainer generate images --out data/tiny --files 2 --rows 10 --size 16 --seed 7
)",
    "trainer generate sum, trainer layers conv2d"};

struct GenerateArguments {
  GenerateOptions options;

  void declare(Command& c, int64_t most_rows) {
    c.text("--out", options.folder, "DIR", "the folder for the files; made if it is not there");
    c.number("--files", options.files, {.least = 1, .most = kMostGeneratedFiles}, "how many files");
    c.number("--rows", options.rows, {.least = 1, .most = most_rows}, "rows of each file");
    c.number("--seed", options.seed, {.least = 0}, "other seeds give other numbers");
    c.flag("--force", options.force, "replace files that are there already");
  }
  void check(const Command& c) const {
    if (!options.folder.empty()) return;
    throw UsageError(cat(c.about.path, " needs --out DIR"), {}, cat(c.line(), " --out data/", c.name()));
  }
};

struct SumArguments : GenerateArguments {
  int64_t features = 1024;

  void declare(Command& c) {
    GenerateArguments::declare(c, kMostGeneratedRows);
    c.number("--features", features, {.least = 1, .most = kMostGeneratedFeatures}, "numbers of each row");
  }
};

struct ImagesArguments : GenerateArguments {
  int64_t size = 28;

  void declare(Command& c) {
    GenerateArguments::declare(c, kMostImageRows);
    c.number("--size", size, {.least = kLeastImageSize, .most = kMostImageSize},
             "pixels of an image in height and width");
  }
};

// Calls `generate` with the options, which let a signal end it, and says what was written.
template <class Generate>
int run_generator(GenerateOptions options, Session& session, const Generate& generate) {
  std::stop_source stop;
  const auto guard = session.signals.while_running([&stop] { stop.request_stop(); });
  options.stop = stop.get_token();
  const GenerateResult result = generate(options);
  const auto files = static_cast<int64_t>(result.paths.size());
  const std::vector<int64_t>& labels = result.rows_of_label;
  session.out.write(cat(result.stopped ? "stopped: wrote " : "wrote ", count_of(files, "file"), ", ",
                        count_of(files * options.rows, "row"),
                        labels.size() == 2 ? cat(" (", labels[1], " with label 1)") : "", ", ",
                        format_bytes(result.bytes), " in ", escape_controls(options.folder), '\n'));
  session.out.flush();
  return result.stopped ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

int run_generate_sum(const SumArguments& arguments, Session& session) {
  return run_generator(arguments.options, session,
                       [&](const GenerateOptions& options) { return generate_sum(options, arguments.features); });
}

int run_generate_images(const ImagesArguments& arguments, Session& session) {
  return run_generator(arguments.options, session,
                       [&](const GenerateOptions& options) { return generate_images(options, arguments.size); });
}

}  // namespace

Command generate_command() {
  Command out(kGenerateText);
  out.add("-h,--help", {}, "print this help", {});
  out.commands = {make_command(kGenerateSumText, run_generate_sum),
                  make_command(kGenerateImagesText, run_generate_images)};
  out.check = [](const Command&) {
    throw UsageError("generate needs to know what", {},
                     "trainer generate sum --out DIR or trainer generate images --out DIR");
  };
  return out;
}

}  // namespace millrace::cli
