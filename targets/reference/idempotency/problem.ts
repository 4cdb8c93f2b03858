/** An error answer as problem+json (RFC 9457). */
export class Problem extends Error {
  /** Read by Fastify as the status of its answer. */
  readonly statusCode: number;
  /** Last part of the problem's `type`. */
  readonly slug: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(statusCode: number, slug: string, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.statusCode = statusCode;
    this.slug = slug;
    this.headers = headers;
  }
}

export const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

export function problemBody(problem: Pick<Problem, "statusCode" | "slug" | "message">): string {
  return JSON.stringify({
    type: `https://example.com/problems/${problem.slug}`,
    title: problem.slug.replaceAll("-", " "),
    status: problem.statusCode,
    detail: problem.message,
  });
}
