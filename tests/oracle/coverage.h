/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COVERAGE_H_
#define COVERAGE_H_ 1

/* What OVS's own tc provider can do, and what it refuses, row by row, and how
 * many of the flows that were tried have had it. */

#include <stdbool.h>
#include "flow-text.h"

enum outcome {
    INSTALLED,                  /* By both, the same filter. */
    REFUSED,                    /* By both. */
    DUPLICATE,                  /* Refused by both, as another flow of the
                                 * same key was there. */
    KNOWN,                      /* A known difference. */
    WRONG,                      /* Another one. */
    N_OUTCOMES
};

extern const char *const outcome_names[N_OUTCOMES];

void coverage_note(const struct test_text *, enum outcome);

/* Prints the table, each line behind "# ".  Returns the number of rows that no
 * flow has had, or that should have been installed and never was. */
unsigned int coverage_print(void);

#endif /* coverage.h */
