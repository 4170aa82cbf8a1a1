/*
 * concentration.h: radii that hold for every true kernel, whatever its rows are, when the successors of each
 * row were observed independently of each other: no posterior, no large-sample approximation.
 */
#ifndef NADIR_FIT_CONCENTRATION_H
#define NADIR_FIT_CONCENTRATION_H

#include "fit/evidence.h"

/* The scaled distance of the rows first .. end - 1 together, (sum of (|P_sa - m_sa|_p / alpha_sa)^p)^(1/p),
 * is larger with a probability of at most `risk`. scales: [rows] that do not depend on which successors were
 * observed; NULL: all one; 0: pinned. 0 where all rows are known. */
double nadir_concentration_radius(const nadir_evidence *evidence, double norm, int64_t first, int64_t end,
                                  const double *scales, double risk);

/* The same for scales that may depend on the data: from radii of single rows, [rows], that hold all at once.
 */
double nadir_concentration_gather(const nadir_evidence *evidence, double norm, const double *scales,
                                  const double *row_radii);

/* About E|P_sa - m_sa|_p of a row of which only the number of visits is known: what it is at most. */
double nadir_concentration_deviation(const nadir_evidence *evidence, double norm, int64_t row);

#endif
