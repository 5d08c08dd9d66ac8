// What the pages do beyond links and forms. Each part finds its own elements; all pages work without.

import "./requests.js";
import "./keys.js";
import "./frame.js";
import "./palette.js";
import "./recent.js";
import "./sheet.js";
