#pragma once

#include <array>
#include <optional>
#include <span>

namespace qtool {

/// The number of groups. Samples are assigned to the groups in turn.
inline constexpr std::size_t kJackknifeGroups = 32;

/// The interval that holds a statistic with 95 % confidence. `estimate` is its value on all
/// samples. The samples are divided into g equal groups, and each entry of `without_group` is the
/// value with one group left out. The interval is estimate +- t s, with
/// s^2 = (g - 1) / g sum (value - mean)^2 over the g groups and Student's t for g - 1 degrees of
/// freedom. With one sample in each group, this is the plain jackknife. nullopt for fewer than two
/// groups, or where a value is not finite. Cost: linear.
/// Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 11; by groups: Kott, The
/// Delete-a-Group Jackknife, Journal of Official Statistics 17 (2001).
std::optional<std::array<double, 2>> jackknife_interval(double estimate,
                                                        std::span<const double> without_group);

}  // namespace qtool
