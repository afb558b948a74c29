/* report_trained_formats.h: what formats of TorchAO are of a configuration's training: they are no
 * formats of their own, since a user asks for `torchao` and means the run's. */
#ifndef ASSAY_REPORT_REPORT_TRAINED_FORMATS_H
#define ASSAY_REPORT_REPORT_TRAINED_FORMATS_H

#include "report/report.h"

extern const struct assay_report_format assay_report_trained_table, assay_report_trained_csv;

#endif
