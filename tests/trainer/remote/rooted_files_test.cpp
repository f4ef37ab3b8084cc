#include "millrace/trainer/remote/rooted_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;
using Type = FileSystem::Type;

// A folder with data, beside others that nobody may see. Its own name looks like a pattern.
class RootedFilesTest : public ::testing::Test {
 protected:
  RootedFilesTest() {
    for (const char* folder : {"[r]o*t?/sub/deep", "[r]o*t?/.hidden", "rooot1", "outside/within", "[r]o*t?more"}) {
      fs::create_directories(folder_.path(folder));
    }
    for (const char* file : {"[r]o*t?/a.csv", "[r]o*t?/b.csv", "[r]o*t?/odd[1]*.csv", "[r]o*t?/.c.csv",
                             "[r]o*t?/sub/a.csv", "[r]o*t?/sub/deep/x.csv", "[r]o*t?/.hidden/h.csv", "rooot1/a.csv",
                             "outside/secret.csv", "outside/within/y.csv", "[r]o*t?more/a.csv"}) {
      folder_.write(file, file);
    }
    link("a.csv", "inside.csv");
    link("sub", "inside");
    link(root("sub/a.csv"), "absolute.csv");
    link("../[r]o*t?/b.csv", "back.csv");
    link("../outside/secret.csv", "out.csv");
    link("../outside", "out");
    link("inside", "chain");
    link("out", "chain_out");
    link("gone.csv", "dangling.csv");
    link("../outside/gone.csv", "dangling_out.csv");
    link("loop.csv", "loop.csv");
    EXPECT_EQ(::mkfifo(root("pipe").c_str(), 0600), 0);
    files_ = std::make_unique<RootedFiles>(root());
  }

  std::string root(const std::string& name = {}) const {
    return folder_.path(name.empty() ? "[r]o*t?" : "[r]o*t?/" + name);
  }
  void link(const std::string& to, const std::string& name) const { fs::create_symlink(to, root(name)); }
  std::string contents(const std::string& path) const {
    const auto file = files_->open(path);
    std::string out(file->size(), '\0');
    EXPECT_EQ(file->read(0, out.data(), out.size()), out.size());
    EXPECT_EQ(file->size_at_open(), out.size());
    EXPECT_TRUE(file->may_stay_open());
    return out;
  }
  std::string open_error(const std::string& path) const {
    return error_of<IoError>([&] { files_->open(path); });
  }

  const TempFolder folder_;
  std::unique_ptr<RootedFiles> files_;
};

TEST_F(RootedFilesTest, OpensWhatIsInside) {
  EXPECT_EQ(contents("a.csv"), "[r]o*t?/a.csv");
  for (const std::string path : {"sub/a.csv", "./sub//a.csv", "sub/deep/../a.csv", "inside/a.csv", "absolute.csv",
                                 "chain/a.csv", "inside/deep/../a.csv", "./././sub/./a.csv"}) {
    EXPECT_EQ(contents(path), "[r]o*t?/sub/a.csv") << path;
    EXPECT_EQ(files_->type(path), Type::file) << path;
    EXPECT_EQ(files_->look(path).size, 17u) << path;
  }
  EXPECT_EQ(contents("inside.csv"), "[r]o*t?/a.csv");
  EXPECT_EQ(contents("back.csv"), "[r]o*t?/b.csv");
  EXPECT_EQ(contents("odd[1]*.csv"), "[r]o*t?/odd[1]*.csv");
  for (const char* path : {".", "./", "sub", "sub/", "inside", "inside/", "sub/..", "inside/..", "sub/deep/../.."}) {
    EXPECT_EQ(files_->type(path), Type::folder) << path;
    EXPECT_EQ(files_->look(path).type, Type::folder) << path;
  }
}

TEST_F(RootedFilesTest, TakesAbsolutePathsThatLeadInside) {
  EXPECT_EQ(contents(root("a.csv")), "[r]o*t?/a.csv");
  EXPECT_EQ(contents("//" + root("./sub/../a.csv")), "[r]o*t?/a.csv");
  EXPECT_EQ(files_->type(root()), Type::folder);
  fs::create_directory_symlink(root(), folder_.path("other_way"));
  fs::create_directory_symlink(root("sub"), folder_.path("outside/to_sub"));
  EXPECT_EQ(contents(folder_.path("other_way/sub/a.csv")), "[r]o*t?/sub/a.csv");
  EXPECT_EQ(contents(folder_.path("outside/to_sub/deep/../../a.csv")), "[r]o*t?/a.csv");
  // A root that is a link itself.
  RootedFiles by_link(folder_.path("other_way"));
  EXPECT_EQ(by_link.type(folder_.path("other_way/a.csv")), Type::file);
  EXPECT_EQ(by_link.type(root("a.csv")), Type::file);
  EXPECT_EQ(by_link.match(folder_.path("other_way/?.csv")),
            (Names{folder_.path("other_way/a.csv"), folder_.path("other_way/b.csv")}));
}

TEST_F(RootedFilesTest, WhatIsOutsideIsNotThere) {
  const std::string here = fs::current_path();
  fs::current_path(folder_.path("outside"));
  for (const std::string& path : {std::string(".."),
                                  std::string("../outside/secret.csv"),
                                  std::string("../outside/none.csv"),
                                  std::string("../[r]o*t?/a.csv"),
                                  std::string("sub/../../outside/secret.csv"),
                                  std::string("out.csv"),
                                  std::string("out"),
                                  std::string("out/secret.csv"),
                                  std::string("out/none.csv"),
                                  std::string("out/.."),
                                  std::string("out/../[r]o*t?/a.csv"),
                                  std::string("chain_out/secret.csv"),
                                  std::string("dangling.csv"),
                                  std::string("dangling_out.csv"),
                                  std::string("loop.csv"),
                                  std::string("secret.csv"),
                                  std::string("none"),
                                  std::string("none/../a.csv"),
                                  std::string(),
                                  std::string("-"),
                                  std::string("a.csv\0x", 7),
                                  std::string("/"),
                                  std::string("/etc/passwd"),
                                  folder_.path("outside/secret.csv"),
                                  folder_.path("outside/none.csv"),
                                  folder_.path("rooot1/a.csv"),
                                  folder_.path("[r]o*t?more/a.csv"),
                                  folder_.path("outside/../[r]o*t?/a.csv"),
                                  folder_.path("none/../[r]o*t?/a.csv"),
                                  root("../outside/secret.csv"),
                                  root("out/secret.csv")}) {
    EXPECT_EQ(files_->type(path), Type::none) << path;
    EXPECT_EQ(files_->look(path).type, Type::none) << path;
    EXPECT_EQ(files_->list(path), Names{}) << path;
    if (path.find('\0') != path.npos) continue;  // messages are shown up to there
    EXPECT_EQ(open_error(path), (path.empty() ? "" : path + ": ") + "cannot open the file: No such file or directory")
        << path;
  }
  fs::current_path(here);
}

TEST_F(RootedFilesTest, SaysWhyAFileInsideCannotBeOpened) {
  EXPECT_EQ(open_error("sub"), "sub: cannot open the file: Is a directory");
  EXPECT_EQ(open_error("a.csv/x"), "a.csv/x: cannot open the file: Not a directory");
  EXPECT_EQ(open_error("a.csv/"), "a.csv/: cannot open the file: Not a directory");
  EXPECT_EQ(open_error(std::string(300, 'x')), std::string(300, 'x') + ": cannot open the file: File name too long");
  const std::string deep = [] {
    std::string out = "a.csv";
    for (int i = 0; i < 1000; ++i) out.insert(0, "sub/../");
    return out;
  }();
  EXPECT_EQ(files_->type(deep), Type::none);
  EXPECT_EQ(files_->look(deep).type, Type::none);
}

// Root may read everything, so the test becomes a user without files.
TEST_F(RootedFilesTest, SaysThatAFileInsideIsForbidden) {
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(root("b.csv"), fs::perms::none);
  fs::permissions(root("sub"), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(folder_.path("outside"), fs::perms::none);
  const uid_t user = geteuid();
  ASSERT_TRUE(user != 0 || seteuid(65534) == 0);
  const std::string denied = ": cannot open the file: Permission denied";
  EXPECT_EQ(open_error("b.csv"), "b.csv" + denied);
  EXPECT_EQ(error_of<IoError>([&] { files_->look("b.csv"); }), "b.csv" + denied);
  EXPECT_EQ(open_error("sub/a.csv"), "sub/a.csv" + denied);
  EXPECT_EQ(error_of<IoError>([&] { files_->look("sub/a.csv"); }), "sub/a.csv" + denied);
  EXPECT_EQ(files_->type("sub/a.csv"), Type::none);
  // As if it were not there.
  const std::string none = ": cannot open the file: No such file or directory";
  EXPECT_EQ(open_error("out/secret.csv"), "out/secret.csv" + none);
  EXPECT_EQ(open_error("out.csv"), "out.csv" + none);
  EXPECT_EQ(open_error("../outside/x"), "../outside/x" + none);
  EXPECT_EQ(open_error(folder_.path("outside/x")), folder_.path("outside/x") + none);
  EXPECT_EQ(files_->match("out/*"), Names{});
  EXPECT_EQ(files_->match("../outside/*"), Names{});
  ASSERT_TRUE(user != 0 || seteuid(user) == 0);
  fs::permissions(root("sub"), fs::perms::owner_write | fs::perms::owner_exec);
  ASSERT_TRUE(user != 0 || seteuid(65534) == 0);
  EXPECT_EQ(error_of<IoError>([&] { files_->match("sub/*"); }), "sub/: cannot read the folder: Permission denied");
  EXPECT_EQ(error_of<IoError>([&] { files_->list("sub"); }), "sub: cannot read the folder: Permission denied");
  ASSERT_TRUE(user != 0 || seteuid(user) == 0);
  fs::permissions(root("sub"), fs::perms::owner_all);
  fs::permissions(folder_.path("outside"), fs::perms::owner_all);
}

TEST_F(RootedFilesTest, OpensPlainFilesOnly) {
  link("/dev/null", "null");
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string here = fs::current_path();
  fs::current_path(root());
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  name.sun_path[0] = 's';
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  fs::current_path(here);
  for (const std::string path : {"pipe", "s"}) {
    EXPECT_EQ(files_->type(path), Type::other);
    EXPECT_EQ(files_->look(path).type, Type::other);
    EXPECT_EQ(open_error(path), path + ": cannot open the file: it is not a plain file");
  }
  EXPECT_EQ(files_->type("null"), Type::none);
  EXPECT_EQ(RootedFiles("/dev").type("null"), Type::other);
  EXPECT_EQ(error_of<ConfigError>([&] { files_->open_stream("pipe"); }),
            "pipe: workers read no streams; give files, or leave out the key workers");
  EXPECT_THROW(files_->open_stream("-"), ConfigError);
}

TEST_F(RootedFilesTest, MatchesAndListsWhatLocalFilesDo) {
  // What leads out is there for local files.
  for (const char* out : {"out.csv", "out", "chain_out", "dangling_out.csv"}) fs::remove(root(out));
  const Names patterns = {"*",
                          "*.csv",
                          "./*.csv",
                          "././*",
                          "sub/*",
                          "*/*.csv",
                          "sub//*",
                          "*/",
                          "*/*/",
                          "*/*/*.csv",
                          "a.csv",
                          "./a.csv",
                          "gone.csv",
                          "dangling.csv",

                          "dangling*",
                          "sub/../*.csv",
                          "*/../a.csv",
                          ".*",
                          ".*/*",
                          ".hidden/*",
                          "[ab].csv",
                          "odd\\[1\\]*",
                          "odd[[]1]\\*.csv",
                          "?.csv",
                          "inside/*",
                          "chain/d*/*",
                          "in*/*.csv",
                          "none/*",
                          "a.csv/*",
                          "a.csv/",
                          "sub/",
                          "sub/.",
                          "sub/..",
                          "sub/../",
                          ".",
                          "./",
                          "",
                          "pipe",
                          "p*",
                          "**",
                          "[!a]*",
                          "*/./*",
                          "dangling.csv/",

                          "sub/none/*",
                          "*/deep/../*",
                          "[a",
                          "*//deep//",
                          "-"};
  const std::string here = fs::current_path();
  fs::current_path(root());
  for (const std::string pattern : {"*", "loop.csv", "./l*"}) {
    EXPECT_EQ(files_->match(pattern), FileSystem::local().match(pattern)) << pattern;
  }
  fs::remove("loop.csv");  // a loop is no folder that can be read, which is an error of "*/*"
  for (const std::string& pattern : patterns) {
    EXPECT_EQ(files_->match(pattern), FileSystem::local().match(pattern)) << pattern;
  }
  for (const std::string folder : {".", "", "sub", "./sub/", "inside", ".hidden", "a.csv", "none", "sub/deep/.."}) {
    EXPECT_EQ(files_->list(folder), FileSystem::local().list(folder)) << folder;
  }
  fs::current_path(here);
  EXPECT_EQ(files_->match(root("nothing*")), Names{});
  EXPECT_EQ(files_->match("*/a.csv"), (Names{"chain/a.csv", "inside/a.csv", "sub/a.csv"}));
  // Of an absolute path, no pattern is looked for outside.
  std::string escaped;
  for (const char c : root()) escaped += (c == '[' || c == '*' || c == '?' ? "\\" : "") + std::string(1, c);
  EXPECT_EQ(files_->match(escaped + "/?.csv"), (Names{root("a.csv"), root("b.csv")}));
  EXPECT_EQ(files_->match(escaped + "//sub/*.csv"), (Names{root() + "//sub/a.csv"}));
  EXPECT_EQ(files_->match(folder_.path("*/a.csv")), Names{});
}

TEST_F(RootedFilesTest, MatchesAndListsNothingOutside) {
  for (const std::string& pattern :
       {std::string("out*"), std::string("out/*"), std::string("*/secret.csv"), std::string("*/within"),
        std::string("chain_out/*"), std::string("dangling_out*"), std::string("dangling_out.csv"), std::string("out"),
        std::string("out.csv"), std::string("../*"), std::string("sub/../../*"), std::string("../[r]o*t?/a.csv"),
        std::string("out/../*"), std::string("/*"), std::string("/etc/*"), folder_.path("outside/*"), folder_.path("*"),
        folder_.path("outside/secret.csv")}) {
    EXPECT_EQ(files_->match(pattern), Names{}) << pattern;
  }
  for (const std::string& name : files_->list(".")) {
    EXPECT_EQ(name.find("out"), name.npos) << name;
  }
  EXPECT_EQ(files_->match("dangling.csv"), Names{"dangling.csv"}) << "it leads nowhere, but inside";
}

TEST_F(RootedFilesTest, KnowsTheSameFile) {
  EXPECT_TRUE(files_->same("a.csv", "inside.csv"));
  EXPECT_TRUE(files_->same("a.csv", root("./a.csv")));
  EXPECT_FALSE(files_->same("a.csv", "b.csv"));
  EXPECT_FALSE(files_->same("out.csv", "out/secret.csv")) << "nothing is said of what is outside";
  EXPECT_TRUE(files_->same("none", "none"));
}

TEST_F(RootedFilesTest, MayHaveEverything) {
  RootedFiles all("/");
  EXPECT_EQ(all.type("/"), Type::folder);
  EXPECT_EQ(all.type("."), Type::folder);
  EXPECT_EQ(all.type(root("a.csv")), Type::file);
  EXPECT_EQ(all.type(root("a.csv").substr(1)), Type::file);
  EXPECT_EQ(all.type(root("out.csv")), Type::file);
  EXPECT_EQ(all.type("/.."), Type::none);
  EXPECT_EQ(all.match("/et[c]"), Names{"/etc"});
  EXPECT_EQ(all.match("et[c]/pass*d"), Names{"etc/passwd"});
  EXPECT_EQ(all.list("/"), FileSystem::local().list("/"));
}

TEST_F(RootedFilesTest, WithoutARootBeginInTheCurrentFolder) {
  const std::string here = fs::current_path();
  fs::current_path(root("sub"));
  RootedFiles all("");
  fs::current_path(here);
  EXPECT_EQ(all.type("a.csv"), Type::file);
  EXPECT_EQ(all.type("../../outside/secret.csv"), Type::file);
  EXPECT_EQ(all.type(folder_.path("outside/secret.csv")), Type::file);
  EXPECT_EQ(all.match("*.csv"), Names{"a.csv"});
}

TEST_F(RootedFilesTest, HidesOne) {
  link(root("a.csv"), "to_a.csv");
  RootedFiles files(root(), root("a.csv"));
  for (const char* path : {"a.csv", "inside.csv", "to_a.csv", "sub/../a.csv"}) {
    EXPECT_EQ(files.type(path), Type::none) << path;
    EXPECT_EQ(error_of<IoError>([&] { files.open(path); }),
              cat(path, ": cannot open the file: No such file or directory"));
  }
  EXPECT_EQ(files.match("?.csv"), Names{"b.csv"});
  EXPECT_EQ(files.list(".").size(), files_->list(".").size() - 3);
  EXPECT_EQ(files.type("sub/a.csv"), Type::file);
}

TEST_F(RootedFilesTest, AFileStaysWhatItWas) {
  const auto changed = [](const auto& body) { return error_of<IoError>(body); };
  const std::string error =
      ": the file has changed since the worker compared it; do not write to input files while "
      "they are read";
  fs::last_write_time(root("a.csv"), {});  // the times of a change have steps of a few milliseconds
  char byte = 0;
  const auto open = files_->open("a.csv");
  EXPECT_EQ(open->read(0, &byte, 1), 1u);
  folder_.write("[r]o*t?/a.csv", "[r]o*t?/A.csv");
  EXPECT_EQ(changed([&] { open->read(0, &byte, 1); }), "a.csv" + error);
  EXPECT_EQ(changed([&] { files_->open("a.csv"); }), "a.csv" + error);
  EXPECT_EQ(changed([&] { files_->look("a.csv"); }), "a.csv" + error);

  // One that was looked at, and is replaced before it is opened.
  EXPECT_EQ(files_->look("b.csv").size, 13u);
  fs::rename(folder_.write("new", "[r]o*t?/B.csv"), root("b.csv"));
  EXPECT_EQ(changed([&] { files_->open("b.csv"); }), "b.csv" + error);

  // A link that leads elsewhere.
  link("sub", "current");
  files_->look("current/a.csv");
  fs::remove(root("current"));
  link("sub/deep", "current");
  fs::copy_file(root("sub/a.csv"), root("sub/deep/a.csv"));
  EXPECT_EQ(changed([&] { files_->open("current/a.csv"); }), "current/a.csv" + error);

  const auto removed = files_->open("sub/a.csv");
  fs::remove(root("sub/a.csv"));
  EXPECT_EQ(changed([&] { removed->read(0, &byte, 1); }), "sub/a.csv" + error);
  EXPECT_EQ(RootedFiles(root()).look("a.csv").size, 13u) << "another reader begins anew";
}

TEST_F(RootedFilesTest, TellsWhetherFilesWereWrittenTo) {
  const Names both = {"a.csv", "sub/a.csv"};
  const uint64_t before = files_->written(both);
  EXPECT_EQ(RootedFiles(root()).written(both), before);
  fs::last_write_time(root("sub/a.csv"), {});
  EXPECT_NE(files_->written(both), before);
  EXPECT_NE(files_->written({"a.csv"}), files_->written({"a.csv", "none.csv"}));
}

TEST_F(RootedFilesTest, NeedsAFolder) {
  EXPECT_EQ(error_of<MissingError>([&] { RootedFiles(root("none")); }),
            root("none") + ": cannot use the folder: No such file or directory");
  EXPECT_EQ(error_of<MissingError>([&] { RootedFiles(root("a.csv")); }), root("a.csv") + ": expected a folder");
}

}  // namespace
}  // namespace millrace
