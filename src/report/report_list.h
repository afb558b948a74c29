/* report_list.h: every report format, one line each; expand with ASSAY_REPORT(name). The file
 * src/report/NAME.c defines assay_report_NAME. */
ASSAY_REPORT(table)
ASSAY_REPORT(json)
ASSAY_REPORT(jsonl)
ASSAY_REPORT(csv)
ASSAY_REPORT(md)
ASSAY_REPORT(comprehensive)
ASSAY_REPORT(torchao)
ASSAY_REPORT(torchao_csv)
ASSAY_REPORT(pytorch)
ASSAY_REPORT(github)
ASSAY_REPORT(kobench)
ASSAY_REPORT(kobench_json)
