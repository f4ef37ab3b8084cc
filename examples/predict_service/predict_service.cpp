// One network in memory predicts rows for many threads.
//
//   predict_service MODEL < ROWS.csv    a row of numbers a line; a line of outputs for each, in the same order
//   predict_service MODEL --speed       rows/s by the number of threads, one row a call and 64 a call
//
// Ends at the end of the input, or on SIGINT and SIGTERM: then when all lines that were read are answered.
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
#include <future>
#include <iostream>
#include <random>
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
  // Must be made before any thread is: they inherit which signals are blocked.
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

// A line, and where its answer goes.
struct Request {
  std::string line;
  std::promise<std::string> answer;
};

// "1,2.5,3" as numbers; empty where it is none.
std::vector<float> parse(const std::string& line) {
  std::vector<float> values;
  const char *at = line.data(), *end = at + line.size() - (line.ends_with('\r') ? 1 : 0);
  while (true) {
    float value = 0;
    const auto [behind, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return {};
    values.push_back(value);
    if (behind == end) return values;
    if (*behind != ',') return {};
    at = behind + 1;
  }
}

// Numbers of a row.
size_t width_of(const millrace::Network& network) {
  const millrace::RowSpec& fields = network.fields();
  if (fields.fields.size() == 1 && fields.fields[0].dtype == millrace::DType::f32 && !fields.varies()) {
    return static_cast<size_t>(fields.fields[0].shape.elements());
  }
  throw millrace::ConfigError("the model reads (" + fields.text() + "), this program serves one field of float32");
}

std::string text_of(const float* outputs, size_t count) {
  std::string text;
  char number[32];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(number, sizeof number, i == 0 ? "%g" : ",%g", static_cast<double>(outputs[i]));
    text += number;
  }
  return text;
}

class Service {
 public:
  explicit Service(const millrace::Network& network)
      : network_(network),
        width_(width_of(network)),
        outputs_(static_cast<size_t>(network.output().shape.elements())) {}

  void run(Lines& lines) {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back([this] { answer_all(); });
    }
    std::jthread writer([this] { write_all(); });
    const CloseAtEnd close{*this};  // whatever ends the loop: then the threads end, and are joined
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
      std::vector<float> values;
      for (Request& request : requests) {
        const std::vector<float> row = parse(request.line);
        if (row.size() != width_) {
          request.answer.set_value("error: expected " + std::to_string(width_) + " numbers, with commas between them");
          continue;
        }
        values.insert(values.end(), row.begin(), row.end());
        rows.push_back(&request);
      }
      if (!rows.empty()) answer(rows, values);
    }
  }

  void answer(const std::vector<Request*>& rows, const std::vector<float>& values) {
    try {
      std::vector<float> outputs(rows.size() * outputs_);
      network_.predict(values, outputs);
      for (size_t i = 0; i < rows.size(); ++i) {
        rows[i]->answer.set_value(text_of(outputs.data() + i * outputs_, outputs_));
      }
    } catch (const millrace::Error& error) {
      if (rows.size() == 1) return rows[0]->answer.set_value(std::string("error: ") + error.what());
      // One row that is wrong spoils none but its own answer.
      for (Request* row : rows) answer({row}, parse(row->line));
    }
  }

  void write_all() {
    for (std::vector<std::future<std::string>> ready; !(ready = answers_.take(kRowsOfACall)).empty();) {
      for (std::future<std::string>& answer : ready) std::cout << answer.get() << '\n';
      std::cout << std::flush;
    }
  }

  const millrace::Network& network_;
  const size_t width_, outputs_;  // numbers of a row, and what comes out for it
  Queue<Request> requests_{1024};
  Queue<std::future<std::string>> answers_{4096};
};

// Rows that so many threads predict in a second, with `rows` of them in a call.
double rows_per_second(const millrace::Network& network, unsigned threads, size_t rows) {
  std::atomic<size_t> done = 0;
  const auto start = Clock::now(), end = start + std::chrono::milliseconds(300);
  {
    std::vector<std::jthread> workers;
    for (unsigned thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        std::mt19937 random(thread);
        std::normal_distribution<float> normal;
        std::vector<float> values(rows * width_of(network));
        std::generate(values.begin(), values.end(), [&] { return normal(random); });
        std::vector<float> outputs(rows * static_cast<size_t>(network.output().shape.elements()));
        size_t predicted = 0;
        for (; Clock::now() < end; predicted += rows) network.predict(values, outputs);
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
