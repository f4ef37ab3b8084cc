#include "millrace/input/files/whole_path.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace millrace {
namespace {

TEST(WholePath, IsTheSameForEverySpelling) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(whole_path("d/a.csv"), here + "/d/a.csv");
  for (const std::string& spelling :
       {std::string("./d/a.csv"), std::string("d//a.csv"), std::string("e/../d/./a.csv"), here + "/d/a.csv",
        here + "/../" + here.substr(here.rfind('/') + 1) + "/d/a.csv"}) {
    EXPECT_EQ(whole_path(spelling), whole_path("d/a.csv")) << spelling;
  }
  EXPECT_NE(whole_path("d/b.csv"), whole_path("d/a.csv"));
  EXPECT_NE(whole_path("/d/a.csv"), whole_path("d/a.csv"));
  EXPECT_EQ(whole_path("d/*.csv"), here + "/d/*.csv") << "a pattern is a path like any other";
}

TEST(WholePath, OfAnything) {
  EXPECT_EQ(whole_path("/"), "/");
  EXPECT_EQ(whole_path(""), whole_path(""));
  EXPECT_NE(whole_path("-"), whole_path("a"));
}

}  // namespace
}  // namespace millrace
