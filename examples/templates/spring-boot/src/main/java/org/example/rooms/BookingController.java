package org.example.rooms;

import java.time.LocalDate;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.http.HttpStatus;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.server.ResponseStatusException;

@Controller
class BookingController {
  private final JdbcClient database;
  private final String branch;

  BookingController(JdbcClient database, @Value("${PLATFORM_BRANCH:nowhere}") String branch) {
    this.database = database;
    this.branch = branch;
  }

  @GetMapping("/")
  String list(Model model) {
    var bookings = database.sql("select room, day, guest from bookings order by day, room limit 100").query(Booking.class).list();
    model.addAttribute("branch", branch).addAttribute("bookings", bookings);
    return "bookings";
  }

  /** The database decides who comes first: a room is booked once a day. */
  @PostMapping("/")
  String book(@RequestParam String room, @RequestParam LocalDate day, @RequestParam String guest) {
    try {
      database.sql("insert into bookings (room, day, guest) values (?, ?, ?)").params(room, day, guest).update();
      return "redirect:/";
    } catch (DuplicateKeyException taken) {
      throw new ResponseStatusException(HttpStatus.CONFLICT, "That room is taken on that day.", taken);
    }
  }
}
