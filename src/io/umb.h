/*
 * umb.h: the names of files and members that the reader and the writer of UMB share.
 *
 * UMB ("unified Markov binary", github.com/pmc-tools/umb) is a tar archive of arrays, perhaps packed by gzip or xz:
 *
 *     index.json                                 sizes, types, and the list of annotations
 *     state-to-choices.bin                       uint64 [states + 1]; absent: one choice in each state
 *     choice-to-branches.bin                     uint64 [choices + 1]; absent: one branch for each choice
 *     branch-to-target.bin                       uint64 [branches]
 *     branch-to-probability.bin                  [branches] of the type that the index names
 *     state-is-initial.bin                       one bit for each state
 *     actions/choices/values.bin                 uint32 [choices]; absent: 0
 *     actions/choices/{string-mapping,strings}.bin    their names: uint64 [actions + 1], and the bytes
 *     annotations/rewards/ID/{states,choices,branches}/values.bin     numbers that add up
 *
 * All little-endian. What nadir has besides stands in a group of annotations of its own:
 *
 *     annotations/nadir/settings/states/strings.bin    "discount 0.95 norm 2 set nonrect domain simplex radius 0.1": the
 *                                                one string of an annotation that gives it to every state
 *     annotations/nadir/initial/states/values.bin      double [states]: a distribution that is not uniform over the initial states
 *     annotations/nadir/scales/choices/values.bin      double [choices]
 *     annotations/nadir/nominal/branches/values.bin    double [branches]: the nominal kernel, where the probabilities are
 *                                                intervals (type double-interval: pairs of doubles)
 *     annotations/nadir/radius/{states,choices}/values.bin    double, where the radius is not one number
 */
#ifndef NADIR_IO_UMB_H
#define NADIR_IO_UMB_H

#include "io/format.h"

#define NADIR_UMB_INDEX      "index.json"
#define NADIR_UMB_CHOICES    "state-to-choices.bin"
#define NADIR_UMB_BRANCHES   "choice-to-branches.bin"
#define NADIR_UMB_TARGETS    "branch-to-target.bin"
#define NADIR_UMB_PROBABLE   "branch-to-probability.bin"
#define NADIR_UMB_INITIAL    "state-is-initial.bin"
#define NADIR_UMB_ACTIONS    "actions/choices/values.bin"
#define NADIR_UMB_NAME_ENDS  "actions/choices/string-mapping.bin"
#define NADIR_UMB_NAMES      "actions/choices/strings.bin"
#define NADIR_UMB_SETTINGS   "annotations/nadir/settings/states/strings.bin"
#define NADIR_UMB_STRING_END "annotations/nadir/settings/states/string-mapping.bin"
#define NADIR_UMB_MU         "annotations/nadir/initial/states/values.bin"
#define NADIR_UMB_SCALES     "annotations/nadir/scales/choices/values.bin"
#define NADIR_UMB_NOMINAL    "annotations/nadir/nominal/branches/values.bin"
#define NADIR_UMB_RADII      "annotations/nadir/radius/%s/values.bin" /* states, choices */

/* Where annotations lie: bit i of a set of places. */
enum { NADIR_UMB_STATES, NADIR_UMB_ROWS, NADIR_UMB_TRANSITIONS, NADIR_UMB_PLACES };
extern const char *const nadir_umb_places[NADIR_UMB_PLACES]; /* "states", "choices", "branches" */

nadir_status nadir_umb_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings);

#endif
