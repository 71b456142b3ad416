"""Release: `dist` builds the wheel and the source archive, `site` the pages."""
