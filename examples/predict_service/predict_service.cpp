// One network in memory predicts rows for many threads.
//
//   predict_service MODEL < ROWS.csv    a row of numbers and texts a line; an answer for each, in the same order
//   predict_service MODEL --speed       rows/s by the number of threads, one row a call and 64 a call
//
// Ends at the end of the input; on SIGINT or SIGTERM, after all lines that were read are answered.
#include <millrace/millrace.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queue.h"

using Clock = std::chrono::steady_clock;

constexpr size_t kRowsOfACall = 64;

// Lines of standard input.
class Lines {
 public:
  // Make it before any thread: threads inherit which signals are blocked.
  Lines() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
  }
  ~Lines() { close(signals_); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The next line; false at the end and after a signal.
  bool next(std::string& line) {
    for (;;) {
      if (const size_t end = text_.find('\n'); end != text_.npos) {
        line.assign(text_, 0, end);
        text_.erase(0, end + 1);
        return true;
      }
      pollfd waiting[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}};
      if (poll(waiting, 2, -1) < 0 || waiting[1].revents != 0) return false;
      char bytes[4096];
      const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
      if (got > 0) {
        text_.append(bytes, static_cast<size_t>(got));
      } else {
        line = std::exchange(text_, {});  // a last line may lack its end
        return !line.empty();
      }
    }
  }

 private:
  int signals_ = -1;
  std::string text_;
};

// A line, and the place for its answer.
struct Request {
  std::string line;
  std::promise<std::string> answer;
};

// The texts between the commas of a line.
std::vector<std::string> cells_of(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

// NaN, a missing value, for an empty text. Rounded once, like the numbers of the training.
template <class T>
T number_of(const std::string& text) {
  T number = std::numeric_limits<T>::quiet_NaN();
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (!text.empty() && (error == std::errc::invalid_argument || stop != end)) {
    throw millrace::DataError("expected a number, got \"" + text + '"');
  }
  const bool too_large_or_small = error == std::errc::result_out_of_range;
  return too_large_or_small ? static_cast<T>(std::strtod(text.c_str(), nullptr)) : number;  // infinity or 0
}

// Writes a line as a row: a number or a text for each column of each field.
void write_row(const std::string& line, millrace::RowBlock& block, int64_t row) {
  const std::vector<std::string> cells = cells_of(line);
  size_t next = 0;
  for (size_t field = 0; field < block.spec().fields.size(); ++field) {
    const millrace::FieldSpec& spec = block.spec().fields[field];
    for (int64_t column = 0; column < spec.shape.elements(); ++column, ++next) {
      if (next == cells.size()) throw millrace::DataError("a row is " + block.spec().text());
      if (spec.text) {
        block.add_text(field, row, cells[next]);
      } else if (spec.dtype == millrace::DType::f64) {
        block.row<double>(field, row)[column] = number_of<double>(cells[next]);
      } else {
        block.row<float>(field, row)[column] = number_of<float>(cells[next]);
      }
    }
  }
  if (next != cells.size()) throw millrace::DataError("a row is " + block.spec().text());
}

// Throws for rows that this program cannot write.
void check_fields(const millrace::RowSpec& fields) {
  for (const millrace::FieldSpec& field : fields.fields) {
    const bool number = field.dtype == millrace::DType::f32 || field.dtype == millrace::DType::f64;
    if (!field.ragged() && (field.text || number)) continue;
    throw millrace::ConfigError("the model reads (" + fields.text() + "), this program serves numbers and texts");
  }
}

// "large,0.25,0.75": the class, if the label is one, and the probabilities; else amounts.
std::string text_of(const millrace::Answer& answer) {
  std::string text;
  for (size_t i = 0; i < answer.classes.size(); ++i) {
    text += (answer.texts[i].empty() ? std::to_string(answer.classes[i]) : answer.texts[i]) + ',';
  }
  char number[32];
  for (size_t i = 0; i < answer.values.size(); ++i) {
    std::snprintf(number, sizeof number, i == 0 ? "%g" : ",%g", answer.values[i]);
    text += number;
  }
  return text;
}

class Service {
 public:
  explicit Service(const millrace::Network& network)
      : network_(network), outputs_(static_cast<size_t>(network.output().shape.elements())) {}

  void run(Lines& lines) {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back([this] { answer_all(); });
    }
    std::jthread writer([this] { write_all(); });
    const CloseAtEnd close{*this};  // whatever ends the loop, the threads end, and are joined
    for (std::string line; lines.next(line);) {
      Request request{line, {}};
      answers_.push(request.answer.get_future());
      requests_.push(std::move(request));
    }
  }

 private:
  struct CloseAtEnd {
    Service& service;
    ~CloseAtEnd() {
      service.requests_.close();
      service.answers_.close();
    }
  };

  // Rows that wait together are predicted together.
  void answer_all() {
    for (std::vector<Request> requests; !(requests = requests_.take(kRowsOfACall)).empty();) {
      std::vector<Request*> rows;
      for (Request& request : requests) rows.push_back(&request);
      answer(rows);
    }
  }

  void answer(const std::vector<Request*>& rows) {
    const auto fill = [&](millrace::RowBlock& block, int64_t begin, int64_t count) {
      for (int64_t row = 0; row < count; ++row) write_row(rows[static_cast<size_t>(begin + row)]->line, block, row);
    };
    try {
      std::vector<float> outputs(rows.size() * outputs_);
      network_.predict(std::ssize(rows), fill, outputs);
      for (size_t i = 0; i < rows.size(); ++i) {
        const std::span<const float> of_row(outputs.data() + i * outputs_, outputs_);
        rows[i]->answer.set_value(text_of(network_.answer(of_row)));
      }
    } catch (const millrace::Error& error) {
      if (rows.size() == 1) return rows[0]->answer.set_value(std::string("error: ") + error.what());
      // A wrong row spoils only its own answer.
      for (Request* row : rows) answer({row});
    }
  }

  void write_all() {
    for (std::vector<std::future<std::string>> ready; !(ready = answers_.take(kRowsOfACall)).empty();) {
      for (std::future<std::string>& answer : ready) std::cout << answer.get() << '\n';
      std::cout << std::flush;
    }
  }

  const millrace::Network& network_;
  const size_t outputs_;  // numbers that come out for a row
  Queue<Request> requests_{1024};
  Queue<std::future<std::string>> answers_{4096};
};

// Rows of random numbers; the texts are missing.
millrace::RowBlock random_rows(const millrace::Network& network, int64_t count) {
  std::mt19937 random;
  std::normal_distribution<double> normal;
  millrace::RowBlock rows = network.make_rows(count);
  for (int64_t row = 0; row < count; ++row) {
    std::string line;
    for (const millrace::FieldSpec& field : network.fields().fields) {
      for (int64_t column = 0; column < field.shape.elements(); ++column) {
        line += ',' + (field.text ? std::string() : std::to_string(normal(random)));
      }
    }
    write_row(line.substr(1), rows, row);
  }
  return rows;
}

// How many rows so many threads predict in a second, with `rows` rows in each call.
double rows_per_second(const millrace::Network& network, unsigned threads, size_t rows) {
  const millrace::RowBlock given = random_rows(network, static_cast<int64_t>(rows));
  std::vector<float> first(rows * static_cast<size_t>(network.output().shape.elements()));
  network.predict(given, first);  // the model may refuse the rows: an error inside a thread would end the program
  std::atomic<size_t> done = 0;
  const auto start = Clock::now(), end = start + std::chrono::milliseconds(300);
  {
    std::vector<std::jthread> workers;
    for (unsigned thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&] {
        std::vector<float> outputs = first;
        size_t predicted = 0;
        for (; Clock::now() < end; predicted += rows) network.predict(given, outputs);
        done += predicted;
      });
    }
  }
  return static_cast<double>(done) / std::chrono::duration<double>(Clock::now() - start).count();
}

void print_speed(const millrace::Network& network) {
  std::printf("threads  rows/s, one a call  rows/s, %zu a call\n", kRowsOfACall);
  const unsigned most = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned threads = 1; threads <= most; threads *= 2) {
    std::printf("%7u %19.0f %18.0f\n", threads, rows_per_second(network, threads, 1),
                rows_per_second(network, threads, kRowsOfACall));
  }
}

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: predict_service MODEL [--speed]\n";
    return 2;
  }
  try {
    const millrace::Network network = millrace::Network::load(words[1]);
    check_fields(network.fields());
    if (count > 2 && std::string(words[2]) == "--speed") {
      print_speed(network);
    } else {
      Lines lines;
      Service(network).run(lines);
    }
  } catch (const millrace::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
