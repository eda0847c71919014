(* The audits bet against a claim: under a true claim the wealth is a nonnegative supermartingale that starts at 1.
   Ville's inequality says that it ever reaches 1/alpha, in any number T of rounds, with probability at most alpha, so a
   refutation is one. *)

From Coq Require Import Reals Lra List Lia Bool.
From DPADMM Require Import Integral HockeyStick.
Import ListNotations.
Open Scope R_scope.

(* E h is the expectation over the next round, given the past h (newest first). *)
Fixpoint path_mean {X} (E : list X -> integral X) (k : nat) (h : list X) (f : list X -> R) : R :=
  match k with O => f h | S k' => int (E h) (fun x => path_mean E k' (x :: h) f) end.

(* Whether W reached the level c now or at any time before. *)
Fixpoint reached {X} (W : list X -> R) (c : R) (h : list X) : bool :=
  (if Rle_dec c (W h) then true else false) || match h with [] => false | _ :: h' => reached W c h' end.

Definition alarm {X} (W : list X -> R) (c : R) (h : list X) : R := if reached W c h then 1 else 0.

Record supermartingale {X} (E : list X -> integral X) (W : list X -> R) : Prop := Supermartingale {
  wealth_nonneg : forall h, 0 <= W h;
  wealth_intg : forall h, intg (E h) (fun x => W (x :: h));
  wealth_falls : forall h, int (E h) (fun x => W (x :: h)) <= W h
}.

Lemma path_mean_const {X} (E : list X -> integral X) k h f c : (forall h, expectation (E h)) ->
  (forall g, f (g ++ h) = c) -> path_mean E k h f = c.
Proof.
  intro HE. revert h; induction k as [ | k IH ]; intros h Hf; simpl; [ apply (Hf []) | ].
  destruct (int_const (E h) c (HE h)) as (Hc & Ec). transitivity (int (E h) (fun _ => c)); [ | exact Ec ].
  symmetry; apply int_ext; [ exact Hc | ]. intro x. symmetry. apply IH. intro g.
  rewrite <- (Hf (g ++ [x])), <- app_assoc. reflexivity.
Qed.

Lemma reached_stays {X} (W : list X -> R) c g h : reached W c h = true -> reached W c (g ++ h) = true.
Proof. intro H; induction g as [ | x g IH ]; simpl; [ assumption | ]. rewrite IH. apply orb_true_r. Qed.

(** Settles: VILLE. A nonnegative supermartingale ever reaches 1/alpha within T rounds with probability at most
    alpha times where it starts. *)
Theorem ville :
  forall {X : Type} (E : list X -> integral X) (W : list X -> R) (T : nat) (alpha : R),
  (forall h, expectation (E h)) -> supermartingale E W -> 0 < alpha ->
  (forall k h, intg (E h) (fun x => path_mean E k (x :: h) (alarm W (1 / alpha)))) ->
  path_mean E T [] (alarm W (1 / alpha)) <= alpha * W [].
Proof.
  intros X E W T alpha HE M Ha Meas.
  assert (Scaled : forall h, 1 / alpha <= W h -> 1 <= alpha * W h).
  { intros h H. apply Rmult_le_reg_l with (/ alpha); [ now apply Rinv_0_lt_compat | ].
    rewrite <- Rmult_assoc, Rinv_l; lra. }
  assert (Pos : forall h, 0 <= alpha * W h) by (intro; apply Rmult_le_pos; [ lra | apply (wealth_nonneg _ _ M) ]).
  assert (Main : forall k h, path_mean E k h (alarm W (1 / alpha))
    <= if reached W (1 / alpha) h then 1 else alpha * W h).
  { induction k as [ | k IH ]; intro h.
    - simpl path_mean. unfold alarm. destruct (reached W (1 / alpha) h); [ lra | apply Pos ].
    - destruct (reached W (1 / alpha) h) eqn:R.
      + right. apply path_mean_const; [ assumption | ]. intro g. unfold alarm. now rewrite reached_stays.
      + apply Rle_trans with (int (E h) (fun x => alpha * W (x :: h))).
        * apply int_le; [ apply Meas | apply intg_scal, (wealth_intg _ _ M) | ]. intro x.
          eapply Rle_trans; [ apply IH | ]. simpl. rewrite R, orb_false_r.
          destruct (Rle_dec (1 / alpha) (W (x :: h))); [ now apply Scaled | lra ].
        * rewrite int_scal by apply (wealth_intg _ _ M). apply Rmult_le_compat_l; [ lra | apply (wealth_falls _ _ M) ].
          }
  eapply Rle_trans; [ apply Main | ]. simpl. rewrite orb_false_r.
  destruct (Rle_dec (1 / alpha) (W [])); [ now apply Scaled | lra ].
Qed.

(* The payoff of a round x: hit is the indicator of the event under the one data set, hit' under the other. *)
Definition payoff {X} (eps delta : R) (hit hit' : X -> R) (x : X) : R := hit x - exp eps * hit' x - delta.

(** Settles: VILLE, TESTS. Under the claim the payoff of a test has mean at most 0. The round x is a pair of trials:
    the marginals of the test phi are those of the densities p and q. *)
Theorem payoff_mean :
  forall {O X : Type} (I : integral O) (E : integral X) (eps delta : R) (p q phi : O -> R) (hit hit' : X -> R),
  expectation E -> (forall o, 0 <= phi o <= 1) ->
  intg I p -> intg I q -> intg I (fun o => p o * phi o) -> intg I (fun o => q o * phi o) ->
  intg E hit -> intg E hit' ->
  int E hit = int I (fun o => p o * phi o) -> int E hit' = int I (fun o => q o * phi o) ->
  hockey I (exp eps) p q <= delta ->
  int E (payoff eps delta hit hit') <= 0.
Proof.
  intros O X I E eps delta p q phi hit hit' HE Hphi Hp Hq Hpp Hqq Hh Hh' E1 E2 H.
  pose proof (hockey_bounds_every_test I (exp eps) p q phi Hphi Hp Hq Hpp Hqq).
  destruct (int_const E (- delta) HE) as (Hd & Ed).
  assert (Hl : intg E (fun x => 1 * hit x + - exp eps * hit' x)) by now apply intg_lin.
  rewrite (int_ext E _ (fun x => (1 * hit x + - exp eps * hit' x) + - delta)).
  - rewrite int_plus, (int_lin _ E), Ed, E1, E2 by assumption. lra.
  - apply intg_ext with (fun x => (1 * hit x + - exp eps * hit' x) + - delta); [ | now apply (intg_plus E) ].
    intro x; unfold payoff; ring.
  - intro x; unfold payoff; ring.
Qed.

(* The wealth of a bettor who places several bets within one round, each with a stake of its own that may depend on the
   past: each round multiplies it by 1 + the sum of stake times payoff. *)
Fixpoint joint_wealth {X B} (bets : list B) (eps delta : B -> R) (hit hit' : B -> list X -> X -> R)
    (stake : B -> list X -> R) (h : list X) : R :=
  match h with
  | [] => 1
  | x :: h' => joint_wealth bets eps delta hit hit' stake h'
      * (1 + lsum (fun b => stake b h' * payoff (eps b) (delta b) (hit b h') (hit' b h') x) bets)
  end.

(** Settles: VILLE. If the stakes of a round times their largest losses e^eps + delta sum to at most 1, the wealth of
    several bets within each round is a nonnegative supermartingale. *)
Theorem joint_betting_supermartingale :
  forall {X B : Type} (E : list X -> integral X) (bets : list B) (eps delta : B -> R) (hit hit' : B -> list X -> X -> R)
    (stake : B -> list X -> R),
  (forall b, 0 <= delta b) -> (forall h, expectation (E h)) ->
  (forall b h x, 0 <= hit b h x <= 1 /\ 0 <= hit' b h x <= 1) ->
  (forall b h, intg (E h) (hit b h) /\ intg (E h) (hit' b h)) ->
  (forall b h, int (E h) (payoff (eps b) (delta b) (hit b h) (hit' b h)) <= 0) ->
  (forall b h, 0 <= stake b h) ->
  (forall h, lsum (fun b => stake b h * (exp (eps b) + delta b)) bets <= 1) ->
  supermartingale E (joint_wealth bets eps delta hit hit' stake).
Proof.
  intros X B E bets eps delta hit hit' stake Hd HE Bh Hi Mean Stake Risk.
  set (W := joint_wealth bets eps delta hit hit' stake).
  set (gain := fun h x => lsum (fun b => stake b h * payoff (eps b) (delta b) (hit b h) (hit' b h) x) bets).
  assert (Worst : forall h x, -1 <= gain h x).
  { intros h x. apply Rle_trans with (lsum (fun b => -1 * (stake b h * (exp (eps b) + delta b))) bets).
    - rewrite lsum_scal. pose proof (Risk h). lra.
    - apply lsum_le. intros b _. unfold payoff. destruct (Bh b h x) as (H1 & H2). pose proof (exp_pos (eps b)).
      assert (exp (eps b) * hit' b h x <= exp (eps b) * 1) by (apply Rmult_le_compat_l; lra).
      assert (stake b h * - (exp (eps b) + delta b) <= stake b h * (hit b h x - exp (eps b) * hit' b h x - delta b))
        by (apply Rmult_le_compat_l; [ apply Stake | lra ]). lra. }
  assert (Nonneg : forall h, 0 <= W h).
  { induction h as [ | x h IH ]; [ unfold W; simpl; lra | ]. change (0 <= W h * (1 + gain h x)).
    apply Rmult_le_pos; [ assumption | ]. pose proof (Worst h x). lra. }
  assert (Pay : forall b h, intg (E h) (payoff (eps b) (delta b) (hit b h) (hit' b h))).
  { intros b h. destruct (Hi b h) as (I1 & I2). destruct (int_const (E h) (- delta b) (HE h)) as (Hc & _).
    apply intg_ext with (fun x => (1 * hit b h x + - exp (eps b) * hit' b h x) + - delta b).
    - intro x; unfold payoff; ring.
    - apply (intg_plus (E h)); [ now apply intg_lin | exact Hc ]. }
  assert (Gain : forall h, intg (E h) (gain h) /\ int (E h) (gain h) <= 0).
  { intro h. assert (Ib : forall b, intg (E h) (fun x => stake b h * payoff (eps b) (delta b) (hit b h) (hit' b h) x))
      by (intro b; apply intg_scal, Pay).
    split; [ now apply (intg_sum (E h) (fun b x => stake b h * payoff (eps b) (delta b) (hit b h) (hit' b h) x)) | ].
    unfold gain. rewrite (int_sum (E h) (fun b x => stake b h * payoff (eps b) (delta b) (hit b h) (hit' b h) x)) by auto.
    apply Rle_trans with (lsum (fun _ => 0) bets); [ | rewrite lsum_const; lra ].
    apply lsum_le. intros b _. rewrite int_scal by apply Pay.
    rewrite <- (Rmult_0_r (stake b h)). apply Rmult_le_compat_l; [ apply Stake | apply Mean ]. }
  assert (Next : forall h, intg (E h) (fun x => W h * 1 + W h * gain h x))
    by (intro h; apply (intg_lin _ (E h) (W h) (W h) (fun _ => 1)); [ apply HE | apply Gain ]).
  assert (Same : forall h x, W h * 1 + W h * gain h x = W (x :: h))
    by (intros; change (W h * 1 + W h * gain h x = W h * (1 + gain h x)); ring).
  constructor; [ assumption | | ]; intro h.
  - exact (intg_ext _ (E h) _ _ (Same h) (Next h)).
  - rewrite <- (int_ext (E h) _ _ (Next h) (Same h)). destruct (HE h) as (H1 & H2), (Gain h) as (G1 & G2).
    rewrite (int_lin _ (E h) (W h) (W h) (fun _ => 1)), H2 by assumption.
    pose proof (Rmult_le_compat_l (W h) _ _ (Nonneg h) G2). lra.
Qed.

(** Settles: VILLE. Bets with fixed shares of the initial wealth, together: again a nonnegative supermartingale. *)
Theorem portfolio_supermartingale :
  forall {X B : Type} (E : list X -> integral X) (share : B -> R) (W : B -> list X -> R) (bets : list B),
  (forall b, In b bets -> 0 <= share b /\ supermartingale E (W b)) ->
  supermartingale E (fun h => lsum (fun b => share b * W b h) bets).
Proof.
  intros X B E share W bets H. constructor; intro h.
  - apply lsum_nonneg; intros b Hb. apply Rmult_le_pos; [ now apply H | apply (wealth_nonneg E _ (proj2 (H b Hb))) ].
  - apply (intg_sum (E h) (fun b x => share b * W b (x :: h))). intros b Hb.
    apply intg_scal, (wealth_intg E _ (proj2 (H b Hb))).
  - rewrite (int_sum (E h) (fun b x => share b * W b (x :: h)))
      by (intros b Hb; apply intg_scal, (wealth_intg E _ (proj2 (H b Hb)))).
    apply lsum_le; intros b Hb. rewrite int_scal by apply (wealth_intg E _ (proj2 (H b Hb))).
    apply Rmult_le_compat_l; [ now apply H | apply (wealth_falls E _ (proj2 (H b Hb))) ].
Qed.

(** Settles: VILLE. The bets that the audits place, several within each round, in several portfolios that hold fixed
    shares of the initial wealth, refute a true claim within T rounds with probability at most alpha. *)
Theorem false_refutations_are_rare :
  forall {X B : Type} (E : list X -> integral X) (portfolios : list (R * list B)) (eps delta : B -> R)
    (hit hit' : B -> list X -> X -> R) (stake : B -> list X -> R) (T : nat) (alpha : R),
  let W := fun h => lsum (fun p => fst p * joint_wealth (snd p) eps delta hit hit' stake h) portfolios in
  0 < alpha -> (forall h, expectation (E h)) -> lsum fst portfolios <= 1 -> (forall p, In p portfolios -> 0 <= fst p) ->
  (forall b, 0 <= delta b) -> (forall b h x, 0 <= hit b h x <= 1 /\ 0 <= hit' b h x <= 1) ->
  (forall b h, intg (E h) (hit b h) /\ intg (E h) (hit' b h)) ->
  (forall b h, int (E h) (payoff (eps b) (delta b) (hit b h) (hit' b h)) <= 0) ->
  (forall b h, 0 <= stake b h) ->
  (forall p h, In p portfolios -> lsum (fun b => stake b h * (exp (eps b) + delta b)) (snd p) <= 1) ->
  (forall k h, intg (E h) (fun x => path_mean E k (x :: h) (alarm W (1 / alpha)))) ->
  path_mean E T [] (alarm W (1 / alpha)) <= alpha.
Proof.
  intros X B E portfolios eps delta hit hit' stake T alpha W Ha HE Hs Hp Hd Bh Hi Mean Stake Risk Meas.
  eapply Rle_trans.
  - apply ville; [ assumption | | assumption | assumption ].
    apply (portfolio_supermartingale E fst (fun p => joint_wealth (snd p) eps delta hit hit' stake)).
    intros p Hin. split; [ now apply Hp | ]. apply joint_betting_supermartingale; auto.
  - unfold W; simpl. rewrite (lsum_ext _ fst) by (intros; ring).
    rewrite <- (Rmult_1_r alpha) at 2. apply Rmult_le_compat_l; lra.
Qed.
