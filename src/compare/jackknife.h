#pragma once

#include <array>
#include <optional>
#include <span>

namespace qtool {

/// Groups that samples are dealt to in turn.
inline constexpr std::size_t kJackknifeGroups = 32;

/// The interval that holds a statistic with 95 % confidence, from its value `estimate` on all
/// samples and those with one of equal groups of the samples left out: estimate +- t s, with
/// s^2 = (g - 1) / g sum (value - mean)^2 over the g groups and Student's t for g - 1 degrees of
/// freedom. With a sample in each group it is the jackknife itself. Nothing for fewer than two
/// groups, or where a value is no finite number. Cost: linear.
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 11; by groups: Kott, The
/// Delete-a-Group Jackknife, Journal of Official Statistics 17 (2001).
std::optional<std::array<double, 2>> jackknife_interval(double estimate,
                                                        std::span<const double> without_group);

}  // namespace qtool
