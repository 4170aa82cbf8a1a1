/*
 * npz.c: the format "NumPy archive": models as named arrays in a zip file.
 *
 * The kernel is one of
 *     P                                (S, A, S) or (A, S, S), told by the shape; S = A needs `layout`
 *     P_data, P_indices, P_indptr      a matrix with one row for each pair (s, a), in CSR form
 *     data, indices, indptr            the same as scipy.sparse.save_npz writes it
 * Row s * A + a belongs to state s and action a, unless `row_state` gives the state of each row (ragged
 * models) and `row_action` the number of its action. The number of states comes from `P_shape`, `states`,
 * `row_state`, `mu`, a two-dimensional `R`, `scales` or `radius`, or, with a notice, from the largest
 * successor. All other arrays are optional; npz.h lists them.
 *
 * Written are P (S, A, S) for dense models with actions 0 .. A - 1 in every state, else CSR rows with
 * P_shape, and with row_state and row_action where they are needed.
 */
#include "io/npz.h"

#include <string.h>

static bool recognises(const char *head, size_t length)
{
    return length >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

const nadir_format nadir_format_npz = {
    .name = "npz",
    .endings = " .npz ",
    .title = "NumPy archive",
    .holds = NADIR_HOLDS_REWARDS | NADIR_HOLDS_TRANSITION_REWARDS | NADIR_HOLDS_DISCOUNT |
             NADIR_HOLDS_INITIAL | NADIR_HOLDS_SCALES | NADIR_HOLDS_NAMES | NADIR_HOLDS_ACTION_NUMBERS |
             NADIR_HOLDS_RAGGED | NADIR_HOLDS_BALL | NADIR_HOLDS_TERMINAL,
    .takes = NADIR_TAKES_LAYOUT | NADIR_TAKES_COMPRESS,
    .recognises = recognises,
    .read = nadir_npz_read,
    .reads_parts = true,
    .write = nadir_npz_write,
};
