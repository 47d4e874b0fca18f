// SPDX-License-Identifier: Apache-2.0
// With A = L L^T and V = L^-1 K(S,:), a new measurement of candidate i adds the row
//   v = (K(i,:) - sum_k V(k,i) V(k,:)) / l,   l = sqrt(v(i) before the division + D)
// and to each right-hand side y its entry z = (y - sum_k V(k,i) z_k) / l, so that K(:,S) A^-1 y = V^T z grows by z v.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "yolk/autotune/linear_algebra.hpp"
#include "yolk/core/check.hpp"

namespace yolk::autotune {
namespace {

constexpr double kLeastVariance = 1e-10;

class HostLinearAlgebra final : public LinearAlgebra {
   public:
    void begin(std::span<const double> prior_variances) override {
        variances_ = Eigen::Map<const Eigen::VectorXd>(prior_variances.data(), size_of(prior_variances));
        value_scores_.setZero(variances_.size());
        unit_scores_.setZero(variances_.size());
        value_entries_.clear();
        unit_entries_.clear();
        evidence_ = {};
    }

    void append(std::size_t candidate, std::span<const double> column, double noise_variance, double value) override {
        YOLK_CHECK(size_of(column) == variances_.size());
        const auto i = static_cast<Eigen::Index>(candidate);
        const auto n = static_cast<Eigen::Index>(value_entries_.size());
        if (rows_.rows() <= n || rows_.cols() != variances_.size()) grow(n);
        // A copy: the row that is written shares the matrix with those that are read.
        const Eigen::VectorXd entries = rows_.col(i).head(n);
        auto row = rows_.row(n);
        row = Eigen::Map<const Eigen::RowVectorXd>(column.data(), size_of(column));
        if (n > 0) row.noalias() -= entries.transpose() * rows_.topRows(n);
        const double pivot = std::sqrt(std::max(row(i), 0.0) + std::max(noise_variance, kLeastVariance));
        row /= pivot;
        double value_entry = value;
        double unit_entry = 1.0;
        for (Eigen::Index k = 0; k < n; ++k) {
            value_entry -= entries(k) * value_entries_[static_cast<std::size_t>(k)];
            unit_entry -= entries(k) * unit_entries_[static_cast<std::size_t>(k)];
        }
        value_entry /= pivot;
        unit_entry /= pivot;
        value_entries_.push_back(value_entry);
        unit_entries_.push_back(unit_entry);
        value_scores_ += value_entry * row.transpose();
        unit_scores_ += unit_entry * row.transpose();
        variances_ = (variances_ - row.transpose().cwiseAbs2()).cwiseMax(kLeastVariance);
        evidence_.values_values += value_entry * value_entry;
        evidence_.values_units += value_entry * unit_entry;
        evidence_.units_units += unit_entry * unit_entry;
        evidence_.log_determinant += 2.0 * std::log(pivot);
        ++evidence_.count;
    }

    std::span<const double> value_scores() override { return view(value_scores_); }
    std::span<const double> unit_scores() override { return view(unit_scores_); }
    std::span<const double> variances() override { return view(variances_); }
    Evidence evidence() override { return evidence_; }

   private:
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

    static Eigen::Index size_of(std::span<const double> values) { return static_cast<Eigen::Index>(values.size()); }
    static std::span<const double> view(const Eigen::VectorXd& values) {
        return {values.data(), static_cast<std::size_t>(values.size())};
    }
    void grow(Eigen::Index used) {
        constexpr Eigen::Index kFirstRows = 64;
        Rows larger(std::max(kFirstRows, 2 * used), variances_.size());
        if (used > 0) larger.topRows(used) = rows_.topRows(used);
        rows_.swap(larger);
    }

    Rows rows_;
    Eigen::VectorXd value_scores_, unit_scores_, variances_;
    std::vector<double> value_entries_, unit_entries_;
    Evidence evidence_;
};

}  // namespace

std::unique_ptr<LinearAlgebra> host_linear_algebra() { return std::make_unique<HostLinearAlgebra>(); }

}  // namespace yolk::autotune
