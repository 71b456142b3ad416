"""What makes a release: `dist` builds the wheel and the source archive."""
