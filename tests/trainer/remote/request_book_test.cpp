#include "millrace/trainer/remote/request_book.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using Outcome = RequestBook::Outcome;

// Asks in a thread of its own.
class Question {
 public:
  Question(RequestBook& book, uint32_t topic, const std::string& message)
      : done_(std::async(std::launch::async,
                         [this, &book, topic, message] { return book.ask(topic, message, answer_, &abandoned); })) {}
  Outcome outcome() { return done_.get(); }
  std::string answer() const { return std::string(answer_.parts.at(0).bytes()); }
  size_t link() const { return answer_.link; }
  bool waits() const { return done_.wait_for(30ms) == std::future_status::timeout; }

  std::atomic<bool> abandoned{false};

 private:
  RequestBook::Answer answer_;
  std::future<Outcome> done_;
};

ZmqParts parts_of(const std::string& text) {
  ZmqParts out;
  out.emplace_back(text);
  return out;
}

class RequestBookTest : public ::testing::Test {
 protected:
  RequestBook book(size_t links, size_t credits = 2, std::optional<Clock::duration> patience = {}) {
    return RequestBook({.links = links, .credits = credits, .patience = patience});
  }
  // What the link is asked, as soon as it is; fails the test if nothing comes.
  RequestBook::Asked take(RequestBook& book, size_t link) {
    for (int i = 0; i < 2000; ++i) {
      if (auto asked = book.take(link, now_)) return *asked;
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "link " << link << " is asked nothing";
    return {};
  }

  Clock::time_point now_ = Clock::now();
};

TEST_F(RequestBookTest, AnswersComeToWhoeverAsked) {
  RequestBook requests = book(1);
  requests.give_topic(0, 7);
  Question first(requests, 7, "a");
  const RequestBook::Asked a = take(requests, 0);
  Question second(requests, 7, "b");
  const RequestBook::Asked b = take(requests, 0);
  EXPECT_EQ(a.message, "a");
  EXPECT_EQ(b.message, "b");
  EXPECT_TRUE(requests.answer(0, b.id, parts_of("B"), now_));
  EXPECT_TRUE(requests.answer(0, a.id, parts_of("A"), now_));
  EXPECT_EQ(first.outcome(), Outcome::answered);
  EXPECT_EQ(second.outcome(), Outcome::answered);
  EXPECT_EQ(first.answer() + second.answer(), "AB");
}

TEST_F(RequestBookTest, ALinkHasNoMoreThanItsCreditsAndOnlyItsTopics) {
  RequestBook requests = book(2, 1);
  requests.give_topic(0, 7);
  Question first(requests, 7, "a");
  const RequestBook::Asked a = take(requests, 0);
  Question second(requests, 7, "b");
  EXPECT_TRUE(second.waits());
  EXPECT_FALSE(requests.take(0, now_)) << "it has one already";
  EXPECT_FALSE(requests.take(1, now_)) << "it knows nothing of the topic";
  requests.answer(0, a.id, parts_of("A"), now_);
  const RequestBook::Asked b = take(requests, 0);
  requests.answer(0, b.id, parts_of("B"), now_);
  EXPECT_EQ(first.outcome(), Outcome::answered);
  EXPECT_EQ(second.outcome(), Outcome::answered);
}

TEST_F(RequestBookTest, ALostLinkGivesItsRequestsBack) {
  RequestBook requests = book(2);
  requests.give_topic(0, 7);
  requests.give_topic(1, 7);
  Question question(requests, 7, "a");
  const RequestBook::Asked a = take(requests, 0);
  EXPECT_FALSE(requests.take(1, now_));
  requests.lose(0, now_);
  const RequestBook::Asked again = take(requests, 1);
  EXPECT_EQ(again.id, a.id);
  EXPECT_FALSE(requests.answer(0, a.id, parts_of("late"), now_)) << "the lost link does not have it any more";
  EXPECT_TRUE(requests.answer(1, a.id, parts_of("A"), now_));
  EXPECT_EQ(question.outcome(), Outcome::answered);
  EXPECT_EQ(question.link(), 1u);
}

TEST_F(RequestBookTest, ASlowRequestIsAskedASecondTimeAndCountsOnce) {
  RequestBook requests = book(2, 64);
  requests.give_topic(0, 7);
  requests.give_topic(1, 7);
  for (int i = 0; i < 10; ++i) {  // the median is 100 ms
    Question quick(requests, 7, "quick");
    const RequestBook::Asked asked = take(requests, 0);
    requests.answer(0, asked.id, parts_of("Q"), now_ + 100ms);
    EXPECT_EQ(quick.outcome(), Outcome::answered);
  }
  Question slow(requests, 7, "slow");
  const RequestBook::Asked asked = take(requests, 0);
  EXPECT_FALSE(requests.take(1, now_ + 399ms));
  EXPECT_FALSE(requests.take(0, now_ + 401ms)) << "it has it already";
  const auto second = requests.take(1, now_ + 401ms);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->id, asked.id);
  EXPECT_TRUE(requests.answer(1, asked.id, parts_of("1"), now_ + 402ms));
  EXPECT_FALSE(requests.answer(0, asked.id, parts_of("0"), now_ + 403ms));
  EXPECT_EQ(slow.outcome(), Outcome::answered);
  EXPECT_EQ(slow.answer(), "1");
}

TEST_F(RequestBookTest, WithoutALinkAQuestionHasAsMuchPatienceAsIsSet) {
  RequestBook hasty = book(1, 2, Clock::duration::zero());
  RequestBook::Answer none;
  EXPECT_EQ(hasty.ask(7, "a", none, nullptr), Outcome::nobody);
  hasty.give_topic(0, 7);
  Question lost(hasty, 7, "b");
  take(hasty, 0);
  hasty.lose(0, now_);
  EXPECT_EQ(lost.outcome(), Outcome::nobody);

  RequestBook patient = book(1, 2, 5s);
  Question question(patient, 7, "a");
  EXPECT_TRUE(question.waits());
  patient.tick(now_);
  patient.tick(now_ + 4900ms);
  EXPECT_TRUE(question.waits());
  patient.tick(now_ + 5s);
  EXPECT_EQ(question.outcome(), Outcome::nobody);
}

TEST_F(RequestBookTest, FilesAreAskedOfOneLinkAtATime) {
  RequestBook requests = book(2);
  requests.give_topic(1, RequestBook::kFiles);
  requests.give_topic(0, RequestBook::kFiles);
  Question question(requests, RequestBook::kFiles, "a");
  const RequestBook::Asked a = take(requests, 0);
  EXPECT_FALSE(requests.take(1, now_ + 15s)) << "though the first is slow";
  requests.lose(0, now_);
  EXPECT_EQ(take(requests, 1).id, a.id);
  requests.answer(1, a.id, parts_of("A"), now_);
  EXPECT_EQ(question.outcome(), Outcome::answered);
  requests.give_topic(0, RequestBook::kFiles);
  Question next(requests, RequestBook::kFiles, "b");
  const RequestBook::Asked b = take(requests, 1);
  EXPECT_FALSE(requests.take(0, now_)) << "the other one answers";
  requests.answer(1, b.id, parts_of("B"), now_);
  EXPECT_EQ(next.outcome(), Outcome::answered);
}

TEST_F(RequestBookTest, ALinkThatNeverAnswersIsAsGoodAsNone) {
  RequestBook requests = book(1, 2, Clock::duration::zero());
  requests.give_topic(0, 7);
  Question question(requests, 7, "a");
  take(requests, 0);
  requests.tick(now_ + 10s);
  EXPECT_TRUE(question.waits());
  requests.tick(now_ + 30min);
  EXPECT_EQ(question.outcome(), Outcome::nobody);
}

TEST_F(RequestBookTest, WhatIsAbandonedOrHasFailedEnds) {
  RequestBook requests = book(1);
  requests.give_topic(0, 7);
  Question question(requests, 7, "a");
  const RequestBook::Asked a = take(requests, 0);
  question.abandoned.store(true);
  requests.wake();
  EXPECT_EQ(question.outcome(), Outcome::abandoned);
  EXPECT_FALSE(requests.answer(0, a.id, parts_of("A"), now_));

  Question other(requests, 7, "b");
  take(requests, 0);
  requests.fail(std::make_exception_ptr(DataError("other files")));
  EXPECT_THROW(other.outcome(), DataError);
  RequestBook::Answer none;
  EXPECT_THROW(requests.ask(7, "c", none, nullptr), DataError);
}

}  // namespace
}  // namespace millrace
