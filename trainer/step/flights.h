// Flights: the batches that a device works on, or worked on last; decides when their recorded steps are launched.
//
//   Flight& flight = flights.next();    // where the next batch goes; its copies are given to another context
//   flights.take_off(plan);
//   if (!flights.launches()) {          // else nothing is left to do
//     context.wait_for(flight.read);
//     ...                               // the step is given to the context
//     flights.landed();
//   }
//
// A launch costs time, however small the step is. So a recorded step waits while the device is still at work on the
// steps before it; that is looked at again when the next batch is there, and launch() ends the wait. A full group of
// kGroup neighbours then goes in one launch: the same work in the same order. Groups are made of the same slots each
// time (batches 4 i to 4 i + 3, of one plan), so what launches a group is made only once. Only steps that make an
// update by themselves go together: if several batches make an update, or numbers that are not finite may stop one,
// each step is launched by itself.
//
// Used by one thread; the context must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/event.h"
#include "millrace/trainer/step/step_plan.h"

namespace millrace {

struct Flight {
  Event read;                // its batch was copied
  Event trained;             // its step has ended; in a group, only the last step has it
  size_t ends_with = 0;      // the flight whose `trained` counts for this batch
  StepPlan* plan = nullptr;  // the batch's plan; null before the first batch
  StepPlan::Slot* slot = nullptr;
  bool unjoined = false;  // its scores belong to the window and are not joined yet
};

class Flights {
 public:
  static constexpr size_t kGroup = StepPlan::kGroup;

  // For `count` batches at a time. If `count` is 2 * kGroup, there are groups: one fills while the other one runs.
  Flights(Context& context, size_t count);

  size_t size() const { return flights_.size(); }
  // How many batches took off.
  uint64_t batches() const { return batches_; }
  Flight& next() { return of(batches_); }
  Flight& last() { return of(batches_ - 1); }
  // The flight of a batch, counted from 0; it also belongs to every batch with the same remainder by size().
  Flight& of(uint64_t batch) { return flights_[batch % flights_.size()]; }
  // The slot of its plan that the next batch uses.
  size_t next_slot() const { return batches_ % flights_.size(); }
  // Marks the end of the training on the flight's batch. REQUIRES: its step was launched.
  const Event& end_of(const Flight& flight) const { return flights_[flight.ends_with].trained; }

  // Notes that the next batch is copied to next_slot() of `plan`.
  void take_off(StepPlan& plan);
  // Whether the step of the last batch is launched as it was recorded, now or later with its neighbours. If not, the
  // steps that waited are launched, and the caller gives the step to the context, then calls landed().
  bool launches();
  // Notes that all of the last batch's step was given to the context.
  void landed() { context_.record(last().trained); }
  // Launches the steps that wait.
  void launch() { launch_before(batches_); }
  // The same for destructors: it throws nothing.
  void drain() noexcept;

  // How often steps went together.
  uint64_t groups() const { return launched_groups_; }
  // Why no steps go together any more; empty unless a group failed.
  const std::string& failure() const { return failure_; }

 private:
  bool launches_last();
  void launch_before(uint64_t end);

  Context& context_;
  std::vector<Flight> flights_;
  bool groups_;
  uint64_t batches_ = 0, launched_ = 0;  // those from launched_ on wait
  uint64_t launched_groups_ = 0;
  std::string failure_;
};

}  // namespace millrace
